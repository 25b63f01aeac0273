// How much the process may grow by a job of a worker depends on how much memory it has.
import { afterEach, expect, spyOn, test } from 'bun:test'
import { endWorkers, JobStopped, runJob } from '../../src/workers/pool.ts'

afterEach(endWorkers)
const MB = 2 ** 20

/** A pattern that is looked for until its worker is ended. */
function endless() {
  const owner = { signal: new AbortController().signal }
  const schema = JSON.stringify({ type: 'array', items: { type: 'string', pattern: '^(a+)+$' } })
  return runJob('checkText', { schema, text: JSON.stringify(Array(500).fill(`${'a'.repeat(60)}!`)) }, owner)
}

test.each([
  ['250 MB', 200, 460],
  ['100 MB', 380, 510],
])('a job: is stopped when the process has grown by %s from %d MB', async (most, before, after) => {
  let looks = 0
  const rss = spyOn(process.memoryUsage, 'rss').mockImplementation(() => (looks++ < 2 ? before : after) * MB)
  const error = await endless().catch((reason: unknown) => reason)
  rss.mockRestore()
  expect(error).toBeInstanceOf(JobStopped)
  expect((error as Error).message).toBe(`more than ${most} of memory`)
})
