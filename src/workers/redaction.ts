// Redacts large texts of traces in workers: other calls would wait for seconds. What is small is redacted at once.
import type { Redactor } from '../cassettes/redact.ts'
import { type JobOwner, runJob } from './pool.ts'

/** Characters up to which a text is redacted at once, which takes at most some 20 ms. */
export const MAX_REDACTED_AT_ONCE = 64 * 1024

/** The end of a call waits for its trace. */
const OWNER: JobOwner = { signal: new AbortController().signal }

/** The text of a trace without secrets. */
export async function redactText(redactor: Redactor, text: string): Promise<string> {
  if (text.length <= MAX_REDACTED_AT_ONCE) return redactor.text(text)
  return redactor.applied(text, await runJob('redactText', { redactor: redactor.portable, text }, OWNER))
}
