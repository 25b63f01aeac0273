// The limits of worker jobs: duration, memory and queue length.
import type { JobLimits } from '../contract/core/job-limits.ts'

/** Steady jobs come in batches that take a hundredth of their limit. */
const STEADY = { ms: 10_000, steady: true }

/**
 * The default limits of each job. Steady jobs come in batches that take a hundredth of their limit, except for redaction.
 */
export const JOB_LIMITS: JobLimits = {
  countTokens: STEADY,
  splitTokens: STEADY,
  embedTexts: STEADY,
  vectorsOf: STEADY,
  drawImage: STEADY,
  speak: STEADY,
  checkTexts: { ms: 10_000, steady: false },
  sample: { ms: 10_000, steady: false },
  checkSchema: { ms: 5_000, steady: false },
  checkText: { ms: 5_000, steady: false },
  renderTemplates: { ms: 10_000, steady: false },
  chunkDocument: { ms: 20_000, steady: false },
  redactText: { ms: 10_000, steady: true },
}

/** Maximum number of waiting jobs. Further jobs are rejected. */
export const MAX_WAITING_JOBS = 512
/** Maximum wait for a worker in ms. The job is then rejected. */
export const MAX_JOB_WAIT_MS = 10_000
/** Bytes by which the process may grow during a job that is not steady. Its worker is ended beyond that. */
export const MAX_JOB_MEMORY = 250 << 20
/** Bytes that the process may reach during such a job. A large process may grow by less, but by at least `MIN_JOB_MEMORY`. */
export const MAX_JOB_RSS = 480 << 20
/** Bytes that such a job may always add. */
export const MIN_JOB_MEMORY = 100 << 20
/** Process size in bytes above which such jobs start one after another, each when the previous one has ended or run for `SETTLED_MS`. */
export const SCARCE_MEMORY = 350 << 20
/** Time in ms after which most of these jobs have allocated their memory. */
export const SETTLED_MS = 1_000
/** Process size in bytes above which workers with a heap above `MUCH_HEAP` are ended. */
export const MUCH_MEMORY = 400 << 20
/** Heap size in bytes above which a worker is ended if the process is above `MUCH_MEMORY`. */
export const MUCH_HEAP = 32 << 20
/** Time between checks of the jobs in ms. Durations are counted in checks, so that a suspended process does not add to them. */
export const CHECK_INTERVAL_MS = 25
/** Maximum checks to wait until the memory of a stopped worker is free. */
export const MAX_RECOVERY_CHECKS = 120
/** Maximum checks to wait until the memory of a worker that ended after its job is free. */
export const MAX_WORN_CHECKS = 20
/** Minimum duration in ms of a job that is stopped for the memory of the process. */
export const MIN_BLAMED_MS = 75
/** Time in ms after which a worker is ended if its job is no longer needed. Most jobs end before. */
export const ABANDONED_MS = 250
