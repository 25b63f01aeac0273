// The only way to run a job in a worker: a rejected or stopped job becomes an error for the caller.
import { ApiError } from '../contract/core/error.ts'
import type { Jobs } from '../workers/jobs.ts'
import { type JobOwner, JobStopped, runJob, WorkersBusy } from '../workers/pool.ts'

/** Seconds after which a rejected caller may retry: the longest job is then done, or has been stopped. */
const RETRY_AFTER_S = 5

/** The owner of a job, and the error if it exceeds its limits. */
interface WorkOptions extends JobOwner {
  /** The error for a job that takes `more than 5 s` or `more than 250 MB of memory`; default: 503. */
  stopped?(why: string): Error
}

/**
 * Runs a job in a worker.
 * @throws ApiError 429 `too_much_work` with `retry-after` if too many jobs wait, the error of `stopped` if the job
 *   exceeds a limit, the signal's reason if that aborts
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
