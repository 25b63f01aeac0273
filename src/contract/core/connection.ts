// The client's bare connection, for faults that HTTP has no words for.
import type { TraceRecord } from './trace.ts'

/** What may be done to a connection instead of answering on it. */
export interface Connection {
  /** Puts bytes on it that need not be HTTP. */
  write(bytes: Uint8Array): Promise<void>
  /** Ends it without another byte (TCP FIN). */
  close(): void
  /** Ends it with a reset (TCP RST); resolves when it is gone. */
  reset(): Promise<void>
}

/** Finds the connection of a request, when there is a hold on it, and knows what is to become of it. */
export interface ConnectionFinder {
  find(): Promise<Connection | undefined>
  /** What tells the connection apart from others of its time; asked while the call is under way. */
  peer?(): string | undefined
  /** Told of what the client waits for in silence: the beginning of its response, or the next piece of it. Gives that on. */
  waitsFor?<T>(next: Promise<T>): Promise<T>
  /** Told that the answer leaves as fast as it is read. */
  leaves?(): void
  /** Told that a call begins at a path, with this body; it begins when what this gives resolves. */
  begins?(path: string, body: Uint8Array): Promise<void> | undefined
  /** Told that the call is over, with its trace where there is one. */
  ends?(trace?: TraceRecord): void
}
