// Traces for the store, without a call; and usage objects of every shape.
import fc from 'fast-check'
import type { TraceRecord } from '../../src/contract/core/trace.ts'

/** Counts as most answers say them, and such that only look like them. */
const count = fc.oneof(
  { weight: 40, arbitrary: fc.nat() },
  { weight: 4, arbitrary: fc.double({ noNaN: true, min: 0, max: 1e9 }).map(Math.abs) },
  fc.constantFrom<unknown>(-1, 1e300, null, true, '5', [5]),
)
const input = { cached_tokens: count, cache_creation_tokens: count, audio_tokens: count }
const output = {
  reasoning_tokens: count,
  accepted_prediction_tokens: count,
  rejected_prediction_tokens: count,
  audio_tokens: count,
}
const usual = fc.record({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: fc.record(input),
  completion_tokens_details: fc.record(output),
})
const reversed = (value: object) => Object.fromEntries(Object.entries(value).reverse())
/** Usage objects: most of the usual form, some nearly. */
export const usage = fc.oneof(
  { weight: 4, arbitrary: usual },
  usual.map(reversed),
  usual.map((counts) => ({ ...counts, prompt_tokens_details: reversed(counts.prompt_tokens_details) })),
  usual.map((counts) => ({ ...counts, more: 1 })),
  usual.map(({ total_tokens: _, ...counts }) => counts),
  usual.map((counts) => ({ ...counts, completion_tokens_details: null })),
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true }),
  fc.constant(null),
)
/** A trace of which most is nothing. */
export const TRACE = {
  session: 'default',
  operation: 'chat.completions',
  model: null,
  status: 200,
  attempts: [],
  plan: [],
  faults: [],
  guardrails: [],
  retrievals: [],
  attachments: [],
} as unknown as TraceRecord
/** What is stored beside it. */
export const TEXTS = { request: 'null', rendered: 'null', answer: 'null', arrived: 0, left: 0 }
