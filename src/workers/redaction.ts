// Redacts what is large in workers, and writes documents of it there: other calls would wait for seconds. What is small is done at once.
import { type DocumentOptions, type InteractionText, interactionText } from '../cassettes/document.ts'
import { attemptSize, packAttempt, unpackAttempt } from '../cassettes/packed.ts'
import type { Redactor } from '../cassettes/redact.ts'
import type { Interaction, RecordedAttempt, UpstreamRequest } from '../contract/core/cassette.ts'
import { type JobOwner, runJob } from './pool.ts'

/** Bytes or characters up to which something is redacted at once, which takes at most some 20 ms. */
export const MAX_REDACTED_AT_ONCE = 64 * 1024

/** Recordings wait for a worker as long as it takes. Nobody abandons them. */
const OWNER: JobOwner = { signal: new AbortController().signal, patient: true }
/** The end of a call waits for its trace. */
const TRACE_OWNER: JobOwner = { signal: OWNER.signal }

/**
 * The attempt without secrets. One redactor must be used for one attempt at a time.
 * @throws JobStopped if it takes too long
 */
export function redactAttempt(
  redactor: Redactor,
  attempt: RecordedAttempt,
): RecordedAttempt | Promise<RecordedAttempt> {
  if (attemptSize(attempt) <= MAX_REDACTED_AT_ONCE) return redactor.attempt(attempt)
  return runJob('redactAttempt', { redactor: redactor.portable, packed: packAttempt(attempt) }, OWNER).then(
    ({ packed, state }) => {
      redactor.resume(state)
      return unpackAttempt(packed)
    },
  )
}

/** The same for a request with a body of `size` bytes. */
export function redactRequest(
  redactor: Redactor,
  request: UpstreamRequest,
  size: number,
): UpstreamRequest | Promise<UpstreamRequest> {
  if (size <= MAX_REDACTED_AT_ONCE) return redactor.request(request)
  return runJob('redactRequest', { redactor: redactor.portable, request }, OWNER).then(({ request, state }) => {
    redactor.resume(state)
    return request
  })
}

/** The text of a trace without secrets. */
export async function redactText(redactor: Redactor, text: string): Promise<string> {
  if (text.length <= MAX_REDACTED_AT_ONCE) return redactor.text(text)
  return redactor.applied(text, await runJob('redactText', { redactor: redactor.portable, text }, TRACE_OWNER))
}

/** The document of an interaction. */
export function composeDocument(
  interaction: Interaction,
  options: DocumentOptions,
): InteractionText | Promise<InteractionText> {
  const { attempts, ...about } = interaction
  if (attempts.every((attempt) => attemptSize(attempt) <= MAX_REDACTED_AT_ONCE))
    return interactionText(interaction, options)
  return runJob('composeDocument', { about, packed: attempts.map(packAttempt), options }, OWNER)
}
