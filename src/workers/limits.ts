// How long each job of the workers may take, and how many may wait: no job is without a limit.
import type { JobLimits } from '../contract/core/job-limits.ts'

/** The bounds of each job, unless its owner has others. Steady work comes in batches that take a hundredth of their limit. */
export const JOB_LIMITS: JobLimits = {
  countTokens: { ms: 10_000, steady: true },
  splitTokens: { ms: 10_000, steady: true },
  embedTexts: { ms: 10_000, steady: true },
  vectorsOf: { ms: 10_000, steady: true },
  drawImage: { ms: 10_000, steady: true },
  speak: { ms: 10_000, steady: true },
  checkTexts: { ms: 10_000, steady: false },
  sample: { ms: 10_000, steady: false },
  checkSchema: { ms: 5_000, steady: false },
  checkText: { ms: 5_000, steady: false },
  renderTemplates: { ms: 10_000, steady: false },
  chunkDocument: { ms: 20_000, steady: false },
}

/** Jobs that wait at the same time; one more is refused. */
export const MAX_WAITING_JOBS = 512
/** Milliseconds that a job waits for a worker; then it is refused. */
export const MAX_JOB_WAIT_MS = 10_000
/** Bytes by which the process may grow while a job that is not steady is done; its worker is then ended. */
export const MAX_JOB_MEMORY = 250 << 20
/** Bytes that the process may reach by such a job: then it may grow by less, but never by less than the second. */
export const MAX_JOB_RSS = 480 << 20
/** Bytes that such a job may always add, however large the process is. */
export const MIN_JOB_MEMORY = 100 << 20
/**
 * Bytes of the process from which on such jobs begin one after another: when the last one has had `SETTLED_MS`, in which most take what
 * they need, or has ended and its memory is free again.
 */
export const SCARCE_MEMORY = 350 << 20
/** Milliseconds in which most of these jobs take the memory that they need. */
export const SETTLED_MS = 1_000
/** Bytes of the process from which on a worker is not kept whose own heap has `MUCH_HEAP`. */
export const MUCH_MEMORY = 400 << 20
/** Bytes of a worker's own heap above which it is not kept once the process has `MUCH_MEMORY`. */
export const MUCH_HEAP = 32 << 20
/** Milliseconds between looks at the jobs: their time is counted in looks, so that a process that stood still costs them one. */
export const LOOK_MS = 25
/** Looks for which others wait until the memory of a worker that was ended for it, or after its job, is free again. */
export const MAX_RECOVERY_LOOKS = 120
/** The same for the memory of a worker that was ended after its job. */
export const MAX_WORN_LOOKS = 20
/** Milliseconds of a job that is never blamed for the memory of the process. */
export const MIN_BLAMED_MS = 75
/** Milliseconds after which a worker is ended whose job nobody waits for any more: most are done before. */
export const ABANDONED_MS = 250
