// The client's bare connection, for faults that HTTP has no words for.

/** What may be done to a connection instead of answering on it. */
export interface Connection {
  /** Ends it with a reset (TCP RST). */
  reset(): void
  /** Ends it without another byte (TCP FIN). */
  close(): void
  /** Puts bytes on it that need not be HTTP. */
  write(bytes: Uint8Array): void
}
