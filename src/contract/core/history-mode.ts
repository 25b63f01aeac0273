// How strictly conversations are judged.

/** What happens to a conversation that its provider would reject. */
export const HISTORY_MODES = ['strict', 'lenient', 'off'] as const
/** `strict` rejects it as the provider does, `lenient` only reports it, `off` does not check it. */
export type HistoryMode = (typeof HISTORY_MODES)[number]
