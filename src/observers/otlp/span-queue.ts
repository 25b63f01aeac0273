// The spans that wait for the collector: no more of them than fit, however long it takes none.

const MOST_SPANS = 32_768
const MOST_CHARACTERS = 32_000_000
/** What goes in one request. */
const BATCH_SPANS = 512
const BATCH_CHARACTERS = 1_000_000

/** A queue that is empty. */
export function spanQueue() {
  let waiting: string[] = []
  let characters = 0
  return {
    size: () => waiting.length,
    hasBatch: () => waiting.length >= BATCH_SPANS || characters >= BATCH_CHARACTERS,
    /** False when there is no room. */
    add(span: string): boolean {
      if (waiting.length >= MOST_SPANS || characters + span.length > MOST_CHARACTERS) return false
      waiting.push(span)
      characters += span.length
      return true
    },
    take(): string[] {
      let size = 0
      let count = 0
      while (count < waiting.length && count < BATCH_SPANS && size < BATCH_CHARACTERS)
        size += waiting[count++]?.length ?? 0
      characters -= size
      const batch = waiting.slice(0, count)
      waiting = waiting.slice(count)
      return batch
    },
    clear() {
      waiting = []
      characters = 0
    },
  }
}
