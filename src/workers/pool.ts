// Workers for what would hold up other calls: started when there is a job for them, ended when they have long been idle. A
// job that takes too long is ended together with its worker, which another one replaces; nobody's job waits without a limit.
import { availableParallelism } from 'node:os'
import type { JobLimit, JobLimits } from '../contract/core/job-limits.ts'
import { isCompiled } from '../lib/assets.ts'
import type { Jobs } from './jobs.ts'
import {
  ABANDONED_MS,
  JOB_LIMITS,
  LOOK_MS,
  MAX_JOB_MEMORY,
  MAX_JOB_RSS,
  MAX_JOB_WAIT_MS,
  MAX_RECOVERY_LOOKS,
  MAX_WAITING_JOBS,
  MAX_WORN_LOOKS,
  MIN_BLAMED_MS,
  MIN_JOB_MEMORY,
  MUCH_HEAP,
  MUCH_MEMORY,
  SCARCE_MEMORY,
  SETTLED_MS,
} from './limits.ts'

/** What a worker is told to do: a name, and the fields of the job's input beside it. A flat message is the fastest. */
export interface JobRequest {
  job: keyof Jobs
}
/** How a job ended. */
export type JobResult = { value: unknown } | { error: string }
/** The same with the bytes that the worker's own heap has then. */
export type JobOutcome = JobResult & { heap: number }

/** A job was ended at a limit, which the message names: `more than 5 s`, `more than 250 MB of memory`. */
export class JobStopped extends Error {}

/** A job was refused, since too many wait or it has waited too long. */
export class WorkersBusy extends Error {}

/** On whose behalf a job is done. */
export interface JobOwner {
  /** Aborted when nobody waits for the job any more: it is then taken out of the queue, or ended. */
  readonly signal: AbortSignal
  /** Whether nobody waits at a connection, so that the job may wait for a worker as long as it takes. */
  readonly patient?: boolean
  /** The bounds of its jobs: `JOB_LIMITS` when left out. */
  readonly limits?: JobLimits | undefined
}

// Three at least: one stays free for steady work, and a small job does not wait for a long one.
const MAX_WORKERS = Math.min(4, Math.max(3, availableParallelism()))
const MAX_UNSTEADY = MAX_WORKERS - 1
/** Documents that may be read at the same time: they take longest, and leave a worker for what callers wait for. */
export const MAX_DOCUMENTS = MAX_UNSTEADY - 1
const IDLE_MS = 60_000

interface PendingJob {
  name: keyof Jobs
  limit: JobLimit
  input: object
  /** Ends the wait for a worker. */
  waiting: Timer | undefined
  /** Stops listening to the owner. */
  release(): void
  resolve(value: unknown): void
  reject(error: unknown): void
}
/** The type of workers in browsers does not know that one may keep a program alive. */
type Thread = Worker & { ref(): void; unref(): void }
interface WorkerSlot {
  worker: Thread
  job: PendingJob | undefined
  timer: Timer | undefined
  /** Milliseconds that the job has taken, by looks. */
  taken: number
  /** How large the process was when it began. */
  rss: number
}

const slots = new Set<WorkerSlot>()
let waiting: PendingJob[] = []
let looks: Timer | undefined
/** After a worker was ended for its memory: below how many bytes that is free again, and the looks that are waited for it. */
let recovery: { below: number; looks: number } | undefined
const totals = { stopped: 0, refused: 0, abandoned: 0 }

/** Where the worker's module is: `build/build.ts` makes it an entry of the executable. */
const address = () => new URL(isCompiled ? './src/workers/worker.js' : './worker.ts', import.meta.url).href

/**
 * Does a job in a worker, within the limits of its owner.
 * @throws JobStopped when it takes too long or too much memory, `WorkersBusy` when it is refused, the signal's reason when that is aborted
 */
export function runJob<Name extends keyof Jobs>(
  name: Name,
  input: Parameters<Jobs[Name]>[0],
  owner: JobOwner,
): ReturnType<Jobs[Name]> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  // Read once: for most calls the signal is made only now.
  const { signal, patient = false, limits = JOB_LIMITS } = owner
  const gone = () => abandon(job, signal.reason)
  const job: PendingJob = {
    name,
    limit: limits[name],
    input,
    waiting: undefined,
    release: () => signal.removeEventListener('abort', gone),
    resolve,
    reject,
  }
  if (signal.aborted) reject(signal.reason)
  else if (!patient && waiting.length >= MAX_WAITING_JOBS) refuse(job, `${MAX_WAITING_JOBS} jobs are waiting`)
  else {
    signal.addEventListener('abort', gone)
    waiting.push(job)
    assign()
    if (!patient && waiting.includes(job)) job.waiting = setTimeout(waitedTooLong, MAX_JOB_WAIT_MS, job)
  }
  return promise as ReturnType<Jobs[Name]>
}

/** How many workers there are, how many jobs wait or are done, and how many were ended before their time. */
export const workerCounts = () => ({
  workers: slots.size,
  jobs: waiting.length + [...slots].filter(({ job }) => job).length,
  ...totals,
})

/** Ends all workers; jobs that are not done fail. */
export function endWorkers(): void {
  const lost = [...waiting, ...[...slots].flatMap(({ job }) => job ?? [])]
  waiting = []
  recovery = undefined
  for (const slot of slots) end(slot)
  for (const job of lost) settle(job, (one) => one.reject(new Error('the server ends')))
}

/** The end of a job, whatever it is. */
function settle(job: PendingJob, how: (job: PendingJob) => void): void {
  clearTimeout(job.waiting)
  job.release()
  how(job)
}

function refuse(job: PendingJob, why: string): void {
  totals.refused++
  settle(job, (one) => one.reject(new WorkersBusy(why)))
}

function waitedTooLong(job: PendingJob): void {
  waiting = waiting.filter((one) => one !== job)
  refuse(job, `no worker was free within ${MAX_JOB_WAIT_MS / 1000} s`)
}

/** Nobody waits for a job any more: it does not begin, or is given a moment to end by itself. */
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
      recovery ??= { below: slot.rss + MUCH_HEAP, looks: MAX_WORN_LOOKS }
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

/**
 * Whether a worker goes with its job: what that leaves behind is given back in no other way, and the next job may leave as much garbage
 * again before it is collected.
 */
const isWorn = ({ job }: WorkerSlot, heap: number): boolean =>
  job !== undefined && !job.limit.steady && heap > MUCH_HEAP && process.memoryUsage.rss() > MUCH_MEMORY

/** Where the next job stands in the queue that may begin now; -1 when there is none. */
function nextIndex(): number {
  let unsteady = 0
  let settling = 0
  for (const { job, taken } of slots) {
    if (!job || job.limit.steady) continue
    unsteady++
    if (taken < SETTLED_MS) settling++
  }
  const isTurn = settling === 0 || process.memoryUsage.rss() <= SCARCE_MEMORY
  return unsteady < MAX_UNSTEADY && isTurn && !recovery
    ? waiting.length > 0
      ? 0
      : -1
    : waiting.findIndex(({ limit }) => limit.steady)
}

/** Gives a worker its next job; an idle one keeps no program alive, and ends after a while. */
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
  looks ??= setInterval(look, LOOK_MS)
  slot.worker.postMessage({ ...job.input, job: job.name } satisfies JobRequest)
}

/** Ends a job together with its worker. */
function stop(slot: WorkerSlot, why: string): void {
  const { job } = slot
  totals.stopped++
  end(slot)
  if (job) settle(job, ({ reject }) => reject(new JobStopped(why)))
  assign()
}

/** Ends the jobs that have taken too long, and the oldest that may have made the process grow too much. */
function look(): void {
  const rss = process.memoryUsage.rss()
  if (recovery && (rss < recovery.below || --recovery.looks <= 0)) {
    recovery = undefined
    assign()
  }
  const busy = [...slots].filter(({ job }) => job)
  if (busy.length === 0 && !recovery) {
    clearInterval(looks)
    looks = undefined
    return
  }
  for (const slot of busy) {
    const ms = slot.job ? slot.job.limit.ms : Number.POSITIVE_INFINITY
    slot.taken += LOOK_MS
    if (slot.taken > ms) stop(slot, `more than ${ms / 1000} s`)
    else if (slot.taken === SETTLED_MS) assign()
  }
  // The memory of one thread alone cannot be told.
  const unsteady = busy.filter(({ job }) => job && !job.limit.steady)
  const [large] = unsteady
    .filter((slot) => slot.job && rss - slot.rss > mostFor(slot) && slot.taken > MIN_BLAMED_MS)
    .sort((one, other) => other.taken - one.taken)
  if (!large) return
  const most = mostFor(large)
  recovery = { below: large.rss + most / 2, looks: MAX_RECOVERY_LOOKS }
  stop(large, `more than ${most >> 20} MB of memory`)
}

/** Bytes by which the process may grow while a job is done that began when it had so many. */
const mostFor = ({ rss }: WorkerSlot): number => Math.max(MIN_JOB_MEMORY, Math.min(MAX_JOB_MEMORY, MAX_JOB_RSS - rss))

/** Ends a worker whose job nobody waits for; others take what waits. */
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
