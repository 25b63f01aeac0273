// Former names of keys and values in the files of users.

/** The present names for each former one; the position in the file decides between several. */
const FORMER_NAMES: Readonly<Record<string, readonly string[]>> = {
  // Keys
  inner: ['internal'],
  point: ['call_site', 'injection_point'],
  waits_kept: ['retry_after_honored'],
  answer: ['output'],
  class: ['failure_mode'],
  verdict: ['result'],
  why: ['reason'],
  baseline: ['known_failures'],
  keep_answer_bytes: ['keep_response_bytes'],
  // Outcomes
  answered: ['succeeded'],
  refused: ['http_error'],
  'timed out': ['timed_out'],
  unreadable: ['invalid_response'],
  cancelled: ['canceled'],
  bug: ['internal_error'],
  // Types of faults
  refuse: ['connection-refused'],
  'late-answer': ['late-response'],
  'model-gone': ['model-not-found'],
  // Findings
  storm: ['retry-storm'],
  amplification: ['retry-amplification'],
  'not-tried': ['not-exercised'],
  'not-cancelled': ['not-canceled'],
  'wrong-address': ['unknown-path'],
  // Failure modes and results of cases
  'empty-answer': ['empty-response'],
  'bad-json': ['invalid-json'],
  held: ['tolerated'],
  broke: ['failed'],
  // Shipped scenarios
  'rate-limit-for-ever': ['rate-limit-forever'],
  // Values of settings
  synthesize: ['generate'],
  asked: ['requested'],
}

/**
 * The present name of a renamed key or value.
 * @param known the names that are valid at this position
 * @returns undefined if the name was never valid there
 */
export const presentName = (written: string, known: readonly string[]): string | undefined =>
  Object.hasOwn(FORMER_NAMES, written) ? FORMER_NAMES[written]?.find((name) => known.includes(name)) : undefined
