// The limits of the jobs that are done off the main thread.

/** The kinds of jobs. */
export type JobName =
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

/** The bounds of one kind of job. */
export interface JobLimit {
  /** Milliseconds of work, after which its worker is ended and another one takes its place. */
  ms: number
  /**
   * Whether what it takes can be told from the size of its input. All others (what strangers' patterns, schemas, templates
   * and documents ask for) leave one worker free for these.
   */
  steady: boolean
}

/** The bounds of every kind of job. */
export type JobLimits = Readonly<Record<JobName, JobLimit>>
