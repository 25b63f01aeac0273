// The worker's side: runs one job after another for pool.ts.
import { heapSize } from 'bun:jsc'
import { JOB_LIMITS, MUCH_HEAP } from '../contract/core/job-limits.ts'
import { jobs } from './jobs.ts'
import type { JobOutcome, JobRequest, JobResult } from './pool.ts'

declare const self: Worker

self.onmessage = async ({ data: { job, ...input } }: MessageEvent<JobRequest>) => {
  const run = jobs[job] as (input: unknown) => Promise<unknown>
  const outcome: JobResult = await run(input).then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
  const heap = heapSize()
  self.postMessage({ ...outcome, heap } satisfies JobOutcome)
  // No one waits for this. The runtime by itself waits for more garbage than a document leaves.
  if (!JOB_LIMITS[job].steady || heap > MUCH_HEAP) Bun.gc(true)
}
