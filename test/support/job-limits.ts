// Short bounds of work in workers, for inputs that would take all of the usual ones.
import type { JobLimits } from '../../src/contract/core/job-limits.ts'
import { JOB_LIMITS } from '../../src/workers/limits.ts'

/** The usual bounds, but for what strangers' inputs ask for: that is given up after so many milliseconds. */
export const shortJobs = (ms: number): JobLimits =>
  Object.fromEntries(
    Object.entries(JOB_LIMITS).map(([name, limit]) => [name, limit.steady ? limit : { ...limit, ms }]),
  ) as JobLimits
