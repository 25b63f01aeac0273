// The token counts of a call as its row has them. Those of most calls have the same names, which take more room than all else
// that a record says, and stand at the end of the answer once more: of these the numbers are stored, and once.
import type { TraceRecord } from '../contract/trace.ts'

type Usage = TraceRecord['usage']

/** JSON of the usual counts, with a `#` for each number. */
const USUAL =
  '{"prompt_tokens":#,"completion_tokens":#,"total_tokens":#,' +
  '"prompt_tokens_details":{"cached_tokens":#,"cache_creation_tokens":#,"audio_tokens":#},' +
  '"completion_tokens_details":{"reasoning_tokens":#,"accepted_prediction_tokens":#,"rejected_prediction_tokens":#,"audio_tokens":#}}'
const PARTS = USUAL.split('#')

/** JSON of such counts, all of them whole numbers. */
const IS_USUAL = new RegExp(`^${USUAL.replaceAll('#', '\\d+')}$`)

/** What an answer that says its usage last has before it. */
const BEFORE = ',"usage":'

/** Whether the answer ends with them as well, and the numbers. */
type Counts = [inAnswer: 0 | 1, ...numbers: unknown[]]

/** The usual counts of a usage object, whatever it is. */
function countsOf(usage: Record<string, unknown>): Counts {
  const { prompt_tokens, completion_tokens, total_tokens } = usage
  const input = usage.prompt_tokens_details as Record<string, unknown> | null | undefined
  const output = usage.completion_tokens_details as Record<string, unknown> | null | undefined
  return [
    0,
    prompt_tokens,
    completion_tokens,
    total_tokens,
    input?.cached_tokens,
    input?.cache_creation_tokens,
    input?.audio_tokens,
    output?.reasoning_tokens,
    output?.accepted_prediction_tokens,
    output?.rejected_prediction_tokens,
    output?.audio_tokens,
  ]
}

/** The JSON of counts. */
function textOf(counts: readonly unknown[]): string {
  let text = PARTS[0] ?? ''
  for (let index = 1; index < PARTS.length; index++) text += `${counts[index]}${PARTS[index]}`
  return text
}

/** Counts and answer as they are stored; any but the usual counts stay as they are, and so does an answer that ends otherwise. */
export function packedUsage(usage: Usage, answer: string): { usage: unknown; answer: string } {
  if (!usage) return { usage, answer }
  const text = JSON.stringify(usage)
  if (!IS_USUAL.test(text)) return { usage, answer }
  const counts = countsOf(usage)
  // Looked for in parts: one text of them would have to be made.
  const end = answer.length - 1
  const begin = end - text.length
  const isLast = answer.endsWith('}') && answer.endsWith(text, end) && answer.endsWith(BEFORE, begin)
  if (!isLast) return { usage: counts, answer }
  counts[0] = 1
  return { usage: counts, answer: answer.slice(0, begin - BEFORE.length) }
}

/** The counts that were stored. */
export const unpackedUsage = (stored: Usage | unknown[]): Usage =>
  Array.isArray(stored) ? JSON.parse(textOf(stored)) : stored

/** The whole answer in SQL, where the counts stand at a place of a record; a row with names has no such place. */
export function answerSql(place: number): string {
  const number = (index: number) => `(record -> '$[${place}][${index}]')`
  const usage = PARTS.map((part, index) => (index === 0 ? `'${part}'` : `${number(index)} || '${part}'`)).join(' || ')
  return `CASE record ->> '$[${place}][0]' WHEN 1 THEN answer || '${BEFORE}' || ${usage} || '}' ELSE answer END`
}
