// Workers for what would hold up other calls: started when there is a job for them, ended when they have long been idle.
import { availableParallelism } from 'node:os'
import { isCompiled } from '../assets.ts'
import type { Jobs } from './jobs.ts'

/** What a worker is told to do: a name, and the fields of the job's input beside it. A flat message is the fastest. */
export interface JobRequest {
  job: keyof Jobs
}
/** How a job ended. */
export type JobOutcome = { value: unknown } | { error: string }

/** A job took longer than it may. */
export class JobTimeout extends Error {}

// Two at least, so that a small job does not wait for a long one.
const MOST_WORKERS = Math.min(4, Math.max(2, availableParallelism()))
const IDLE_MS = 60_000

interface WaitingJob {
  name: keyof Jobs
  input: object
  limit: number
  resolve(value: unknown): void
  reject(error: Error): void
}
/** The type of workers in browsers does not know that one may keep a program alive. */
type Thread = Worker & { ref(): void; unref(): void }
interface WorkerSlot {
  worker: Thread
  job: WaitingJob | undefined
  timer: Timer | undefined
}

const slots = new Set<WorkerSlot>()
let waiting: WaitingJob[] = []

/** Where the worker's module is: `build/build.ts` makes it an entry of the executable. */
const address = () => new URL(isCompiled ? './src/lib/worker/worker.js' : './worker.ts', import.meta.url).href

/**
 * Does a job in a worker.
 * @param limit milliseconds after which the job is ended
 * @throws JobTimeout when it takes longer than `limit`
 */
export function runJob<Name extends keyof Jobs>(
  name: Name,
  input: Parameters<Jobs[Name]>[0],
  limit: number = Number.POSITIVE_INFINITY,
): ReturnType<Jobs[Name]> {
  const result = new Promise<unknown>((resolve, reject) => {
    waiting.push({ name, input, limit, resolve, reject })
  })
  assign()
  return result as ReturnType<Jobs[Name]>
}

/** How many workers there are, and how many jobs wait or are done. */
export const workerCounts = () => ({
  workers: slots.size,
  jobs: waiting.length + [...slots].filter(({ job }) => job).length,
})

/** Ends all workers; jobs that are not done fail. */
export function endWorkers(): void {
  const lost = [...waiting, ...[...slots].flatMap(({ job }) => job ?? [])]
  waiting = []
  for (const slot of slots) end(slot)
  for (const { reject } of lost) reject(new Error('the server ends'))
}

function assign(): void {
  for (const slot of slots) if (!slot.job) next(slot)
  while (waiting.length > 0 && slots.size < MOST_WORKERS) next(startWorker())
}

function startWorker(): WorkerSlot {
  const worker = new Worker(address()) as Thread
  const slot: WorkerSlot = { worker, job: undefined, timer: undefined }
  worker.onmessage = ({ data }: MessageEvent<JobOutcome>) => {
    const { job } = slot
    release(slot)
    if ('value' in data) job?.resolve(data.value)
    else job?.reject(new Error(data.error))
    next(slot)
  }
  worker.onerror = ({ message }) => {
    const { job } = slot
    end(slot)
    job?.reject(new Error(`a worker failed: ${message}`))
    assign()
  }
  slots.add(slot)
  return slot
}

/** Gives a worker its next job; an idle one keeps no program alive, and ends after a while. */
function next(slot: WorkerSlot): void {
  const job = waiting.shift()
  slot.job = job
  clearTimeout(slot.timer)
  if (!job) {
    slot.worker.unref()
    slot.timer = setTimeout(end, IDLE_MS, slot)
    slot.timer.unref()
    return
  }
  slot.worker.ref()
  if (Number.isFinite(job.limit)) slot.timer = setTimeout(expire, job.limit, slot)
  slot.worker.postMessage({ ...job.input, job: job.name } satisfies JobRequest)
}

function expire(slot: WorkerSlot): void {
  const { job } = slot
  end(slot)
  job?.reject(new JobTimeout(`it took more than ${job.limit} ms`))
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
