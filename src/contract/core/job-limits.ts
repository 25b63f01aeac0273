// The limits of jobs in workers.

/** The limits of one kind of job. */
export interface JobLimit {
  /** Milliseconds of work, after which its worker is terminated and replaced. */
  ms: number
  /**
   * Whether its cost follows from the size of its input. All others (untrusted patterns, schemas, templates and
   * documents) leave one worker free for these.
   */
  steady: boolean
}

/** Steady jobs come in batches that take a hundredth of their limit. */
const STEADY = { ms: 10_000, steady: true }

/**
 * The default limits of each job. Steady jobs come in batches that take a hundredth of their limit, except for redaction: of that, one at a
 * time runs for a recording.
 */
export const JOB_LIMITS = {
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
  redactAttempt: { ms: 60_000, steady: true },
  redactRequest: { ms: 60_000, steady: true },
  redactText: { ms: 10_000, steady: true },
  composeDocument: { ms: 60_000, steady: true },
} satisfies Record<string, JobLimit>

/** The limits of every kind of job. */
export type JobLimits = Readonly<Record<keyof typeof JOB_LIMITS, JobLimit>>

/** Heap size in bytes above which a worker may be ended to free memory. */
export const MUCH_HEAP = 32 << 20
