/** The executable of this platform. */
export const executable: string
/** Newest modification time, in ms, of a file or of everything below a folder; 0 when there is none. */
export function newest(path: string): number
/**
 * Whether it must be built, because it is missing or something in it has changed.
 * @param options `withSite` is false where the documentation site in it does not matter
 */
export function isStale(options?: { withSite?: boolean }): boolean
