// What commands put around the program: another way to handle requests, and connections that notice their course.
import type { ConnectionFinder } from '../../contract/core/connection.ts'
import type { Understudy } from '../../deps.ts'

/** The program, whose requests are handled by `fetch`. */
export const withFetch = (understudy: Understudy, fetch: Understudy['app']['fetch']): Understudy => ({
  ...understudy,
  app: { ...understudy.app, fetch },
})

/** A connection that passes everything on to another one, if there is one, except what it handles itself. */
export const wrapConnection = (
  inner: ConnectionFinder | undefined,
  own: Partial<ConnectionFinder>,
): ConnectionFinder => ({
  find: async () => inner?.find(),
  peer: () => inner?.peer?.(),
  leaves: () => inner?.leaves?.(),
  waitsFor: (next) => inner?.waitsFor?.(next) ?? next,
  begins: (path, body) => inner?.begins?.(path, body),
  ends: (trace) => inner?.ends?.(trace),
  ...own,
})
