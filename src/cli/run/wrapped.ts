// What commands put around the program: another way to handle requests, and connections that notice their course.
import type { Connection, ConnectionFinder } from '../../contract/core/connection.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Understudy } from '../../deps.ts'

/** The program, whose requests are handled by `fetch`. */
export const withFetch = (understudy: Understudy, fetch: Understudy['app']['fetch']): Understudy => ({
  ...understudy,
  app: { ...understudy.app, fetch },
})

/** A connection that passes everything on to another one, if there is one. */
export class WrappedConnection implements ConnectionFinder {
  readonly #inner: ConnectionFinder | undefined

  constructor(inner: ConnectionFinder | undefined) {
    this.#inner = inner
  }

  find(): Promise<Connection | undefined> {
    return this.#inner?.find() ?? Promise.resolve(undefined)
  }

  peer(): string | undefined {
    return this.#inner?.peer?.()
  }

  leaves(): void {
    this.#inner?.leaves?.()
  }

  waitsFor<T>(next: Promise<T>): Promise<T> {
    return this.#inner?.waitsFor?.(next) ?? next
  }

  begins(path: string, body: Uint8Array): Promise<void> | undefined {
    return this.#inner?.begins?.(path, body)
  }

  ends(trace?: TraceRecord): void {
    this.#inner?.ends?.(trace)
  }
}
