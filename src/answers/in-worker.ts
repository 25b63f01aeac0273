// The one way to have something done in a worker: what is refused or takes too long there is an error for whoever asked.
import { ApiError } from '../contract/core/error.ts'
import type { Jobs } from '../workers/jobs.ts'
import { type JobOwner, JobStopped, runJob, WorkersBusy } from '../workers/pool.ts'

/** Seconds after which a caller that was refused may come again: the longest job is then done, or has ended. */
const RETRY_AFTER_S = 5

/** On whose behalf a job is done, and what it means when it takes too much. */
interface WorkOptions extends JobOwner {
  /** The error for a job that takes `more than 5 s` or `more than 250 MB of memory`; 503 when left out. */
  stopped?(why: string): Error
}

/**
 * Does a job in a worker.
 * @throws ApiError 429 `too_much_work` with `retry-after` when too many jobs wait, what `stopped` gives when the job is ended
 * at a limit, the signal's reason when that is aborted
 */
export async function inWorker<Name extends keyof Jobs>(
  name: Name,
  input: Parameters<Jobs[Name]>[0],
  options: WorkOptions,
): Promise<Awaited<ReturnType<Jobs[Name]>>> {
  try {
    return await runJob(name, input, options)
  } catch (error) {
    if (error instanceof JobStopped) throw (options.stopped ?? tooSlow)(error.message)
    if (!(error instanceof WorkersBusy)) throw error
    throw new ApiError(429, 'too_much_work', `too many expensive requests at once: ${error.message}; call again`, {
      headers: { 'retry-after': String(RETRY_AFTER_S) },
    })
  }
}

const tooSlow = (why: string) =>
  new ApiError(503, 'work_timeout', `a part of this call takes ${why}, which is the limit`)
