// The memory of the process, where a test must not depend on what other tests have left in it.
import { afterAll, beforeAll, spyOn } from 'bun:test'

/** Bytes of a server that has just started. */
const FRESH = 100 << 20

/** Reports a fresh process's memory in the tests of a file or a group, so that workers have all of theirs. */
export function withFreshMemory(): void {
  let rss: { mockRestore(): void }
  beforeAll(() => {
    rss = spyOn(process.memoryUsage, 'rss').mockReturnValue(FRESH)
  })
  afterAll(() => rss.mockRestore())
}
