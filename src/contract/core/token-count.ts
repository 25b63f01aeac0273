// The operation that counts the tokens of a message: its name and its path.

/** As traces, rules of scenarios and `match` call it. */
export const COUNT_TOKENS = 'messages.count_tokens'
/** Where it is. */
export const COUNT_TOKENS_PATH = '/v1/messages/count_tokens'
