// The client's TCP connection, for faults that HTTP cannot express.
import type { TraceRecord } from './trace.ts'

/** What faults can do to a connection instead of responding. */
export interface Connection {
  /** Writes bytes, which need not be HTTP. */
  write(bytes: Uint8Array): Promise<void>
  /** Closes it without another byte (TCP FIN). */
  close(): void
  /** Resets it (TCP RST). Resolves when it is gone. */
  reset(): Promise<void>
}

/** Finds the connection of a request, if it is accessible, and is notified of what happens to it. */
export interface ConnectionFinder {
  find(): Promise<Connection | undefined>
  /** Distinguishes the connection from others of its time. Call it while the call is in progress. */
  peer?(): string | undefined
  /** Notified of what the client awaits in silence: the start of its response, or the next chunk. Returns it. */
  waitsFor?<T>(next: Promise<T>): Promise<T>
  /** Notified that the response is sent as fast as it is read. */
  leaves?(): void
  /** Notified of a call to a path, with its body. The call starts when the returned promise resolves. */
  begins?(path: string, body: Uint8Array): Promise<void> | undefined
  /** Notified that the call ended, with its trace if there is one. */
  ends?(trace?: TraceRecord): void
}
