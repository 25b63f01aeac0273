// What was read of the workspace while a scenario was played, for faults that answer what was true before; bounded in number and bytes.
import type { WorkspaceCall } from '../contract/core/fault.ts'
import type { Reply } from '../contract/core/reply.ts'
import type { CacheSize } from '../lib/byte-cache.ts'

/** Reads, oldest first. */
export interface RecordedReads {
  readonly list: WorkspaceCall['reads']
  /** Notes a read; one of a file is not kept, and neither is what takes more than all may. */
  add(url: string, reply: Reply): void
  size(): CacheSize
}

/** How many reads are kept. */
interface ReadLimits {
  count: number
  bytes: number
}

const LIMITS: ReadLimits = { count: 200, bytes: 8 << 20 }

/** The reads of one active scenario; the oldest go first. */
export function recordedReads({ count, bytes: limit }: ReadLimits = LIMITS): RecordedReads {
  const list: { url: string; reply: Reply }[] = []
  const sizes: number[] = []
  let bytes = 0
  return {
    list,
    add(url, reply) {
      // The bytes of a file are never stale, and would be kept for nothing.
      if (reply.body.kind !== 'value') return
      const taken = url.length + (JSON.stringify(reply.body.value)?.length ?? 0)
      list.push({ url, reply })
      sizes.push(taken)
      bytes += taken
      while (list.length > count || bytes > limit) {
        list.shift()
        bytes -= sizes.shift() ?? 0
      }
    },
    size: () => ({ entries: list.length, bytes, limit }),
  }
}
