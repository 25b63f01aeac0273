// Reads evidence from a cassette. It has no times between its calls, only their order.
import type { Cassette, RecordedAttempt } from '../contract/core/cassette.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { FileError } from '../schema/source.ts'
import type { EvidenceAttempt, EvidenceOfAttempts, EvidenceOutcome } from './evidence.ts'

/**
 * The attempts of a cassette.
 * @throws FileError if it has none
 */
export function cassetteEvidence({ file, interactions }: Cassette): EvidenceOfAttempts {
  const attempts = interactions.flatMap(({ request: { provider, operation, model, body }, attempts: recorded }) =>
    recorded.map(
      (attempt): EvidenceAttempt => ({
        provider,
        model,
        operation,
        stream: body.kind === 'json' && asObject(body.value)?.stream === true,
        outcome: recordedOutcome(attempt),
      }),
    ),
  )
  if (attempts.length === 0) throw new FileError(`${file} has no call to a model provider`)
  return { kind: 'attempts', format: 'cassette', attempts, skipped: [] }
}

function recordedOutcome({ response, end, endedAt }: RecordedAttempt): EvidenceOutcome {
  if (!response)
    return end === 'reset' || end === 'cut by provider' ? { kind: 'reset' } : { kind: 'silence', ms: endedAt }
  const { status, headers, frames } = response
  const bytes = frames.reduce((sum, frame) => sum + frame.bytes.length, 0)
  if (status >= 400) {
    const text = new TextDecoder().decode(Buffer.concat(frames.map((frame) => frame.bytes)))
    const header = (name: string) => headers.find(([one]) => one === name)?.[1]
    const inMs = Number(header('retry-after-ms')) || Number(header('retry-after')) * 1000
    const body = asObject(parsedJson(text)) ?? (text === '' ? undefined : text)
    return { kind: 'status', status, body, retryAfter: inMs > 0 ? inMs : undefined }
  }
  // Its client left because it had enough, or because nothing came any more: the first is no failure.
  return end === 'complete' || end === 'left by client' ? { kind: 'succeeded' } : { kind: 'cut', bytes }
}
