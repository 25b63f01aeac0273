// Records workspace reads during a scenario, for faults that return earlier data. Limited in number and bytes.
import type { WorkspaceCall } from '../contract/core/fault.ts'
import type { Reply } from '../contract/core/reply.ts'
import type { CacheSize } from '../lib/byte-cache.ts'

/** Reads, oldest first. */
export type RecordedReads = ReturnType<typeof recordedReads>

/** Maximum number of reads and their total size. */
const LIMITS = { count: 200, bytes: 8 << 20 }

/** Creates the reads of one active scenario. The oldest are dropped first. */
export function recordedReads({ count, bytes: limit } = LIMITS) {
  const list: { url: string; reply: Reply }[] = []
  const sizes: number[] = []
  let bytes = 0
  return {
    list: list as WorkspaceCall['reads'],
    /** Records a read. Files and reads above the limit are not recorded. */
    add(url: string, reply: Reply): void {
      // Files never change, so their bytes are not needed.
      if (reply.body.kind !== 'value') return
      const size = url.length + (JSON.stringify(reply.body.value)?.length ?? 0)
      list.push({ url, reply })
      sizes.push(size)
      bytes += size
      while (list.length > count || bytes > limit) {
        list.shift()
        bytes -= sizes.shift() ?? 0
      }
    },
    size: (): CacheSize => ({ entries: list.length, bytes, limit }),
  }
}
