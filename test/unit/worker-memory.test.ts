// How much the process may grow by a job of a worker depends on how much memory it has.
import { afterEach, expect, spyOn, test } from 'bun:test'
import { packTexts } from '../../src/workers/packed-texts.ts'
import { endWorkers, type JobOutcome, JobStopped, runJob, workerCounts } from '../../src/workers/pool.ts'

afterEach(endWorkers)
const MB = 2 ** 20

/** A pattern that is looked for until its worker is ended, in many texts: a worker ends only between two of them. */
function endless(signal = new AbortController().signal) {
  const schema = JSON.stringify({ type: 'array', items: { type: 'string', pattern: '^(a+)+$' } })
  return runJob('checkText', { schema, text: JSON.stringify(Array(500).fill(`${'a'.repeat(22)}!`)) }, { signal })
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

const owner = { signal: new AbortController().signal }
const render = () => runJob('renderTemplates', { ...packTexts(['Hi']), engine: 'text', values: {} }, owner)

/** A worker that reports a heap of so many MB after each job: when its garbage was collected last is nobody's choice. */
const workerWith = (megabytes: number) =>
  class extends Worker {
    override set onmessage(handler: ((this: Worker, event: MessageEvent) => void) | null) {
      super.onmessage = ({ data }) =>
        handler?.call(this, new MessageEvent('message', { data: { ...data, heap: megabytes * MB } }))
    }
  }

/** A worker that never ends a job, and takes no processor time for it. */
class SilentWorker extends Worker {
  override postMessage() {}
}

test.each([
  ['is ended', 'the process and its heap are large', 420, 40, 0],
  ['is kept', 'the process is small', 380, 40, 1],
  ['is kept', 'its heap is small', 420, 20, 1],
])('a worker: %s after its job when %s', async (_, __, megabytes, heap, left) => {
  const rss = spyOn(process.memoryUsage, 'rss').mockReturnValue(megabytes * MB)
  const original = globalThis.Worker
  globalThis.Worker = workerWith(heap)
  await render()
  globalThis.Worker = original
  rss.mockRestore()
  expect(workerCounts()).toMatchObject({ workers: left, jobs: 0 })
})

test('a worker: reports the size of its heap', async () => {
  const worker = new Worker(new URL('../../src/workers/worker.ts', import.meta.url))
  const { promise, resolve } = Promise.withResolvers<JobOutcome>()
  worker.onmessage = ({ data }) => resolve(data)
  worker.postMessage({ job: 'renderTemplates', ...packTexts(['Hi']), engine: 'text', values: {} })
  const { heap } = await promise
  worker.terminate()
  expect([heap > 100_000, heap < 30 * MB]).toEqual([true, true])
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

test('jobs without a bound of their own: do not wait for a long one when memory is scarce', async () => {
  const rss = spyOn(process.memoryUsage, 'rss').mockReturnValue(360 * MB)
  const over = new AbortController()
  const original = globalThis.Worker
  globalThis.Worker = SilentWorker
  const long = endless(over.signal).catch((reason: unknown) => reason)
  globalThis.Worker = original
  await render()
  expect(workerCounts()).toMatchObject({ jobs: 1 })
  rss.mockRestore()
  // Its limit would end it after five seconds of work.
  over.abort('not needed')
  expect(await long).toBe('not needed')
})
