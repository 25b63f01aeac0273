// How cassettes are replayed: what the settings select.

/** What a request without a recorded response gets: an error, or the response of its provider, recorded or not. */
export const ON_MISS = ['error', 'forward', 'record'] as const
/** One of these. */
export type OnMiss = (typeof ON_MISS)[number]

/** How fast recorded latency passes: as recorded, not at all, or so many times faster. */
export type ReplaySpeed = 'real' | 'instant' | number

/** The kinds of weak matching. */
export const WEAK_MATCHING = ['sampling', 'prefix'] as const
/** A kind of weak matching: requests that differ in sampling parameters, or that continue a recorded conversation. */
export type WeakMatching = (typeof WEAK_MATCHING)[number]

/** The code of the error for a request without a recorded response. */
export const MISS_CODE = 'replay_miss'
