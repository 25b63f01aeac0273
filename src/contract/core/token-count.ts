// The operation that counts the tokens of a message: its name and its path.

/** Its name in traces, rules of scenarios and `match`. */
export const COUNT_TOKENS = 'messages.count_tokens'
/** Its path. */
export const COUNT_TOKENS_PATH = '/v1/messages/count_tokens'
