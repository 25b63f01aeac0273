// Bounds of work in workers: short ones for inputs that would take all of the usual ones, and none for tests of something else.
import { JOB_LIMITS, type JobLimits } from '../../src/contract/core/job-limits.ts'

/** No bound of time: a busy machine may take longer for a job than the usual ones allow. */
export const UNHURRIED: JobLimits = Object.fromEntries(
  Object.entries(JOB_LIMITS).map(([name, limit]) => [name, { ...limit, ms: Number.POSITIVE_INFINITY }]),
) as JobLimits

/** The usual bounds, but for what strangers' inputs ask for: that is given up after so many milliseconds. */
export const shortJobs = (ms: number): JobLimits =>
  Object.fromEntries(
    Object.entries(JOB_LIMITS).map(([name, limit]) => [name, limit.steady ? limit : { ...limit, ms }]),
  ) as JobLimits
