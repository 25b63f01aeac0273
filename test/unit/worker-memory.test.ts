// How much the process may grow by a job of a worker depends on how much memory it has.
import { afterEach, expect, spyOn, test } from 'bun:test'
import { packTexts } from '../../src/workers/packed-texts.ts'
import { endWorkers, JobStopped, runJob, workerCounts } from '../../src/workers/pool.ts'

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
  ['150 MB', 330, 490],
  ['100 MB', 380, 510],
])('a job: is stopped when the process has grown by %s from %d MB', async (most, before, after) => {
  let looks = 0
  const rss = spyOn(process.memoryUsage, 'rss').mockImplementation(() => (looks++ < 2 ? before : after) * MB)
  const error = await endless().catch((reason: unknown) => reason)
  rss.mockRestore()
  expect(error).toBeInstanceOf(JobStopped)
  expect((error as Error).message).toBe(`more than ${most} of memory`)
})

/** A list of numbers that takes more memory than a worker keeps. */
const list = packTexts(['{% set all = range(900000) %}'])
const owner = { signal: new AbortController().signal }
const render = () => runJob('renderTemplates', { ...list, engine: 'jinja', values: {} }, owner)

test.each([
  ['is ended', 'large', 340, 0],
  ['is kept', 'small', 200, 1],
])('a worker with a large heap: %s after its job when the process is %s', async (_, __, megabytes, left) => {
  const rss = spyOn(process.memoryUsage, 'rss').mockReturnValue(megabytes * MB)
  await render()
  rss.mockRestore()
  expect(workerCounts()).toMatchObject({ workers: left, jobs: 0 })
})

test.each([
  ['one', 360, 1],
  ['some', 200, 2],
])('jobs without a bound of their own: begin %s at a time when the process has %d MB', async (_, megabytes, most) => {
  const rss = spyOn(process.memoryUsage, 'rss').mockReturnValue(megabytes * MB)
  const jobs = [render(), render()]
  expect(workerCounts()).toMatchObject({ workers: most, jobs: 2 })
  await Promise.all(jobs)
  rss.mockRestore()
})
