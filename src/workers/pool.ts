// Workers for jobs that would block other calls. They start on demand and end after idle time. A job that takes too long is ended
// together with its worker, which is replaced.
import { availableParallelism } from 'node:os'
import { JOB_LIMITS, type JobLimit, type JobLimits, MUCH_HEAP } from '../contract/core/job-limits.ts'
import { isCompiled } from '../lib/assets.ts'
import type { Jobs } from './jobs.ts'

/** Maximum number of waiting jobs. Further jobs are rejected. */
export const MAX_WAITING_JOBS = 512
/** Maximum wait for a worker in ms. The job is then rejected. */
const MAX_JOB_WAIT_MS = 10_000
/** Bytes by which the process may grow during a job that is not steady. Its worker is ended beyond that. */
const MAX_JOB_MEMORY = 250 << 20
/** Bytes that the process may reach during such a job. A large process may grow by less, but by at least `MIN_JOB_MEMORY`. */
const MAX_JOB_RSS = 480 << 20
/** Bytes that such a job may always add. */
const MIN_JOB_MEMORY = 100 << 20
/** Process size in bytes above which such jobs start one after another, each when the previous one has ended or run for `SETTLED_MS`. */
const SCARCE_MEMORY = 350 << 20
/** Time in ms after which most of these jobs have allocated their memory. */
const SETTLED_MS = 1_000
/** Process size in bytes above which workers with a heap above `MUCH_HEAP` are ended. */
const MUCH_MEMORY = 400 << 20
/** Time between checks of the jobs in ms. Durations are counted in checks, so that a suspended process does not add to them. */
const CHECK_INTERVAL_MS = 25
/** Maximum checks to wait until the memory of a stopped worker is free. */
const MAX_RECOVERY_CHECKS = 120
/** Maximum checks to wait until the memory of a worker that ended after its job is free. */
const MAX_WORN_CHECKS = 20
/** Minimum duration in ms of a job that is stopped for the memory of the process. */
const MIN_BLAMED_MS = 75
/** Time in ms after which a worker is ended if its job is no longer needed. Most jobs end before. */
const ABANDONED_MS = 250

/** A message to a worker: the name of the job and the fields of its input. A flat message is the fastest. */
export interface JobRequest {
  job: keyof Jobs
}
/** How a job ended. */
export type JobResult = { value: unknown } | { error: string }
/** The result with the size of the worker's heap in bytes. */
export type JobOutcome = JobResult & { heap: number }

/** A job was ended at a limit, which the message names: `more than 5 s`, `more than 250 MB of memory`. */
export class JobStopped extends Error {}

/** A job was rejected because too many were waiting, or it waited too long. */
export class WorkersBusy extends Error {}

/** The owner of a job. */
export interface JobOwner {
  /** Aborted when the result is no longer needed. The job is then removed from the queue, or ended. */
  readonly signal: AbortSignal
  /** Whether the job may wait for a worker without a limit, because no connection waits for it. */
  readonly patient?: boolean
  /** The limits of its jobs. Default: `JOB_LIMITS`. */
  readonly limits?: JobLimits | undefined
}

// At least three: one for steady work, and two so that a small job does not wait for a long one.
const MAX_WORKERS = Math.min(4, Math.max(3, availableParallelism()))
const MAX_UNSTEADY = MAX_WORKERS - 1
/** Maximum documents read at the same time. They take longest, so one more worker stays free for other jobs. */
export const MAX_DOCUMENTS = MAX_UNSTEADY - 1
const IDLE_MS = 60_000

interface PendingJob {
  name: keyof Jobs
  limit: JobLimit
  input: object
  /** The timeout of the wait for a worker. */
  waiting: Timer | undefined
  /** Stops listening to the owner. */
  release(): void
  resolve(value: unknown): void
  reject(error: unknown): void
}
/** A worker with `ref` and `unref`, which the type for browsers lacks. */
type Thread = Worker & { ref(): void; unref(): void }
interface WorkerSlot {
  worker: Thread
  job: PendingJob | undefined
  timer: Timer | undefined
  /** Duration of the job in ms, counted in checks. */
  taken: number
  /** Size of the process in bytes when the job began. */
  rss: number
}

const slots = new Set<WorkerSlot>()
let waiting: PendingJob[] = []
let checkTimer: Timer | undefined
/** Set after a worker was ended for its memory: the process size in bytes to wait for, and the maximum number of checks. */
let recovery: { below: number; checks: number } | undefined
const totals = { stopped: 0, refused: 0, abandoned: 0 }

/** The URL of the worker's module, which `build/build.ts` adds to the executable as an entry. */
const address = () => new URL(isCompiled ? './src/workers/worker.js' : './worker.ts', import.meta.url).href

/**
 * Runs a job in a worker, within the limits of its owner.
 * @throws JobStopped if it takes too long or too much memory, `WorkersBusy` if it is rejected, the signal's reason if that is aborted
 */
export function runJob<Name extends keyof Jobs>(
  name: Name,
  input: Parameters<Jobs[Name]>[0],
  owner: JobOwner,
): ReturnType<Jobs[Name]> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  // Read once, since the signal is created on first use.
  const { signal, patient = false, limits = JOB_LIMITS } = owner
  const onAbort = () => abandon(job, signal.reason)
  const job: PendingJob = {
    name,
    limit: limits[name],
    input,
    waiting: undefined,
    release: () => signal.removeEventListener('abort', onAbort),
    resolve,
    reject,
  }
  if (signal.aborted) reject(signal.reason)
  else if (!patient && waiting.length >= MAX_WAITING_JOBS) rejectBusy(job, `${MAX_WAITING_JOBS} jobs are waiting`)
  else {
    signal.addEventListener('abort', onAbort)
    waiting.push(job)
    assign()
    if (!patient && waiting.includes(job)) job.waiting = setTimeout(onWaitTimeout, MAX_JOB_WAIT_MS, job)
  }
  return promise as ReturnType<Jobs[Name]>
}

/** The numbers of workers, of waiting and running jobs, and of jobs that were stopped, rejected or abandoned. */
export const workerCounts = () => ({
  workers: slots.size,
  jobs: waiting.length + [...slots].filter(({ job }) => job).length,
  ...totals,
})

/** Ends all workers. Unfinished jobs fail. */
export function endWorkers(): void {
  const unfinished = [...waiting, ...[...slots].flatMap(({ job }) => job ?? [])]
  waiting = []
  recovery = undefined
  for (const slot of slots) end(slot)
  for (const job of unfinished) settle(job, (one) => one.reject(new Error('the server ends')))
}

/** Ends a job with its result or error. */
function settle(job: PendingJob, finish: (job: PendingJob) => void): void {
  clearTimeout(job.waiting)
  job.release()
  finish(job)
}

function rejectBusy(job: PendingJob, reason: string): void {
  totals.refused++
  settle(job, (one) => one.reject(new WorkersBusy(reason)))
}

function onWaitTimeout(job: PendingJob): void {
  waiting = waiting.filter((one) => one !== job)
  rejectBusy(job, `no worker was free within ${MAX_JOB_WAIT_MS / 1000} s`)
}

/** Handles a job whose result is no longer needed. A running job has a short time to end by itself. */
function abandon(job: PendingJob, reason: unknown): void {
  totals.abandoned++
  waiting = waiting.filter((one) => one !== job)
  settle(job, (one) => one.reject(reason))
  for (const slot of slots) {
    if (slot.job !== job) continue
    clearTimeout(slot.timer)
    slot.timer = setTimeout(replace, ABANDONED_MS, slot)
  }
}

function assign(): void {
  for (const slot of slots) if (!slot.job) next(slot)
  while (slots.size < MAX_WORKERS && nextIndex() >= 0) next(startWorker())
}

function startWorker(): WorkerSlot {
  const worker = new Worker(address()) as Thread
  const slot: WorkerSlot = { worker, job: undefined, timer: undefined, taken: 0, rss: 0 }
  worker.onmessage = ({ data }: MessageEvent<JobOutcome>) => {
    const { job } = slot
    if (isWorn(slot, data.heap)) {
      recovery ??= { below: slot.rss + MUCH_HEAP, checks: MAX_WORN_CHECKS }
      end(slot)
    } else release(slot)
    if (job)
      settle(job, ({ resolve, reject }) => ('value' in data ? resolve(data.value) : reject(new Error(data.error))))
    assign()
  }
  worker.onerror = ({ message }) => {
    const { job } = slot
    end(slot)
    if (job) settle(job, ({ reject }) => reject(new Error(`a worker failed: ${message}`)))
    assign()
  }
  slots.add(slot)
  return slot
}

/** Whether a worker must end with its job: there is no other way to free the memory that the job used. */
const isWorn = ({ job }: WorkerSlot, heap: number): boolean =>
  job !== undefined && !job.limit.steady && heap > MUCH_HEAP && process.memoryUsage.rss() > MUCH_MEMORY

/** The index in the queue of the next job that may begin now. -1 if there is none. */
function nextIndex(): number {
  let unsteady = 0
  let settling = 0
  for (const { job, taken } of slots) {
    if (!job || job.limit.steady) continue
    unsteady++
    if (taken < SETTLED_MS) settling++
  }
  const mayStart = settling === 0 || process.memoryUsage.rss() <= SCARCE_MEMORY
  return unsteady < MAX_UNSTEADY && mayStart && !recovery
    ? waiting.length > 0
      ? 0
      : -1
    : waiting.findIndex(({ limit }) => limit.steady)
}

/** Gives a worker its next job. An idle worker does not keep the process alive, and ends after a while. */
function next(slot: WorkerSlot): void {
  const index = nextIndex()
  const [job] = index < 0 ? [] : waiting.splice(index, 1)
  slot.job = job
  clearTimeout(slot.timer)
  if (!job) {
    slot.worker.unref()
    slot.timer = setTimeout(end, IDLE_MS, slot)
    slot.timer.unref()
    return
  }
  clearTimeout(job.waiting)
  slot.worker.ref()
  slot.taken = 0
  if (!job.limit.steady) slot.rss = process.memoryUsage.rss()
  checkTimer ??= setInterval(checkJobs, CHECK_INTERVAL_MS)
  slot.worker.postMessage({ ...job.input, job: job.name } satisfies JobRequest)
}

/** Ends a job together with its worker. */
function stop(slot: WorkerSlot, reason: string): void {
  const { job } = slot
  totals.stopped++
  end(slot)
  if (job) settle(job, ({ reject }) => reject(new JobStopped(reason)))
  assign()
}

/** Ends jobs that take too long, and the longest-running job if the process has grown too much. */
function checkJobs(): void {
  const rss = process.memoryUsage.rss()
  if (recovery && (rss < recovery.below || --recovery.checks <= 0)) {
    recovery = undefined
    assign()
  }
  const busy = [...slots].filter(({ job }) => job)
  if (busy.length === 0 && !recovery) {
    clearInterval(checkTimer)
    checkTimer = undefined
    return
  }
  for (const slot of busy) {
    const ms = slot.job ? slot.job.limit.ms : Number.POSITIVE_INFINITY
    slot.taken += CHECK_INTERVAL_MS
    if (slot.taken > ms) stop(slot, `more than ${ms / 1000} s`)
    else if (slot.taken === SETTLED_MS) assign()
  }
  // The memory of a single thread cannot be measured.
  const unsteady = busy.filter(({ job }) => job && !job.limit.steady)
  const [large] = unsteady
    .filter((slot) => slot.job && rss - slot.rss > maxGrowthFor(slot) && slot.taken > MIN_BLAMED_MS)
    .sort((one, other) => other.taken - one.taken)
  if (!large) return
  const limit = maxGrowthFor(large)
  recovery = { below: large.rss + limit / 2, checks: MAX_RECOVERY_CHECKS }
  stop(large, `more than ${limit >> 20} MB of memory`)
}

/** Bytes by which the process may grow during a job, by its size at the start. */
const maxGrowthFor = ({ rss }: WorkerSlot): number =>
  Math.max(MIN_JOB_MEMORY, Math.min(MAX_JOB_MEMORY, MAX_JOB_RSS - rss))

/** Ends a worker whose job is no longer needed, and assigns waiting jobs to others. */
function replace(slot: WorkerSlot): void {
  end(slot)
  assign()
}

function release(slot: WorkerSlot): void {
  clearTimeout(slot.timer)
  slot.job = undefined
}

function end(slot: WorkerSlot): void {
  release(slot)
  slots.delete(slot)
  slot.worker.terminate()
}
