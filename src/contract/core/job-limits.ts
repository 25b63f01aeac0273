// The limits of jobs in workers.

/** The kinds of jobs. */
type JobName =
  | 'countTokens'
  | 'splitTokens'
  | 'embedTexts'
  | 'vectorsOf'
  | 'drawImage'
  | 'speak'
  | 'checkTexts'
  | 'sample'
  | 'checkSchema'
  | 'checkText'
  | 'renderTemplates'
  | 'chunkDocument'
  | 'redactText'

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

/** The limits of every kind of job. */
export type JobLimits = Readonly<Record<JobName, JobLimit>>
