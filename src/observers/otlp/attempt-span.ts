// The span of an attempt: what was asked of which model, and what came of it.
import type { AttemptRecord, TraceRecord } from '../../contract/trace.ts'
import { remembering, rememberingAll } from '../../lib/remember.ts'
import type { CallContent } from './content.ts'
import { CORE, EVENTS, GEN_AI, genAiOperation, OWN, providerAndModel } from './conventions.ts'
import type { EndedCall } from './ended-call.ts'
import {
  attributeList,
  booleanAttribute,
  doubleAttribute,
  intAttribute,
  LONGEST_CONTENT,
  optionalInt,
  optionalText,
  SPAN_KIND,
  spanEvent,
  spanJson,
  textAttribute,
} from './json.ts'
import { callSpanId, partSpanId } from './trace-context.ts'

/** Events that say which rules of the scenario have acted. */
export const faultEvents = (faults: readonly string[], scenario: string | null, at: number): string[] =>
  faults.map((rule) =>
    spanEvent(EVENTS.fault, at, attributeList(textAttribute(OWN.rule, rule), optionalText(OWN.scenario, scenario))),
  )

/** What made a call or an attempt fail, in a word of few; undefined when nothing did. */
export function errorTypeOf(outcome: TraceRecord['outcome'], status: number): string | undefined {
  if (outcome === 'answered') return status >= 400 ? String(status) : undefined
  if (outcome === 'refused') return String(status)
  return outcome === 'timed out' ? 'timeout' : outcome
}

/** The model that is asked, as its provider knows it. */
export const modelAttributes = remembering((target: string): string => {
  const { provider, model } = providerAndModel(target)
  return attributeList(textAttribute(GEN_AI.provider, provider), textAttribute(GEN_AI.requestModel, model))
})

/** What many attempts have in common; `model` is the one that answered. */
const attemptAttributes = rememberingAll(
  (
    operation: string,
    target: string,
    parameters: string,
    stream: boolean,
    httpStatus: number | undefined,
    errorType: string | undefined,
    why: AttemptRecord['why'],
    index: number,
    number: number,
    position: number,
    model: string | undefined,
    finishReasons: string | undefined,
  ) =>
    attributeList(
      textAttribute(GEN_AI.operation, genAiOperation(operation)),
      modelAttributes(target),
      parameters,
      booleanAttribute(GEN_AI.stream, stream),
      optionalInt(CORE.status, httpStatus),
      index === 0 ? undefined : intAttribute(CORE.resend, index),
      optionalText(CORE.errorType, errorType),
      intAttribute(OWN.attempt, number),
      textAttribute(OWN.why, why),
      position === 0 ? undefined : intAttribute(OWN.position, position),
      model === undefined ? undefined : textAttribute(GEN_AI.responseModel, providerAndModel(model).model),
      finishReasons,
    ),
)

const nameOf = rememberingAll(
  (operation: string, target: string) => `${genAiOperation(operation)} ${providerAndModel(target).model}`,
)

/** The span of one attempt of a call. */
export function attemptSpan(call: EndedCall, index: number, times: { start: number; end: number }): string {
  const { trace, position, parameters, answer, content } = call
  const { operation, stream } = trace
  const attempt = trace.attempts[index] as AttemptRecord
  const { target, outcome, status, why, number, started_ms, first_content_ms: first, faults } = attempt
  const errorType = errorTypeOf(outcome, status)
  // One whose end nobody saw was answered, or refused in so many words.
  const seen = call.attemptEnds[index]
  const httpStatus = seen
    ? (seen.httpStatus ?? undefined)
    : outcome === 'answered' || outcome === 'refused'
      ? status
      : undefined
  // The last attempt is the one whose answer was given.
  const answered = errorType === undefined && index === trace.attempts.length - 1
  const model = answered ? (trace.model ?? target) : undefined
  const reasons = answered ? answer.finishReasons : undefined
  const { position: fallback } = attempt
  return spanJson({
    traceId: position.traceId,
    state: position.state,
    spanId: partSpanId(trace.id, `attempt:${index}`),
    parentId: callSpanId(trace.id),
    name: nameOf(operation, target),
    kind: SPAN_KIND.client,
    ...times,
    attributes: attributeList(
      attemptAttributes(
        ...([operation, target, parameters, stream, httpStatus, errorType, why, index] as const),
        ...([number, fallback, model, reasons] as const),
      ),
      stream && first !== null ? doubleAttribute(GEN_AI.firstChunk, (first - started_ms) / 1_000) : undefined,
      answered ? optionalText(GEN_AI.responseId, answer.id) : undefined,
      answered ? usageAttributes(trace.usage) : undefined,
      ...(answered && content ? contentAttributes(content) : []),
    ),
    events: faults.length === 0 ? undefined : faultEvents(faults, trace.scenario, times.end),
    error: errorType,
  })
}

/** The messages, and how long they were where not all of it is there. */
const contentAttributes = ({ input, output }: CallContent) => [
  textAttribute(GEN_AI.inputMessages, input.json, LONGEST_CONTENT),
  optionalInt(OWN.inputLength, input.whole),
  textAttribute(GEN_AI.outputMessages, output.json, LONGEST_CONTENT),
  optionalInt(OWN.outputLength, output.whole),
]

type Counts = Readonly<Record<string, unknown>>
function countIn(counts: unknown, name: string, other: string): number | undefined {
  if (counts == null) return undefined
  const count = (counts as Counts)[name] ?? (counts as Counts)[other]
  return typeof count === 'number' ? count : undefined
}

/** Tokens, as the wires of operations name them. */
function usageAttributes(usage: TraceRecord['usage']): string | undefined {
  if (usage === null) return undefined
  const input = usage.prompt_tokens_details ?? usage.input_tokens_details
  const output = usage.completion_tokens_details ?? usage.output_tokens_details
  return tokenAttributes(
    countIn(usage, 'prompt_tokens', 'input_tokens'),
    countIn(usage, 'completion_tokens', 'output_tokens'),
    countIn(output, 'reasoning_tokens', ''),
    countIn(input, 'cached_tokens', ''),
    countIn(input, 'cache_creation_tokens', ''),
  )
}

const tokenAttributes = rememberingAll(
  (
    input: number | undefined,
    output: number | undefined,
    reasoning: number | undefined,
    cacheRead: number | undefined,
    cacheWrite: number | undefined,
  ) =>
    attributeList(
      optionalInt(GEN_AI.inputTokens, input),
      optionalInt(GEN_AI.outputTokens, output),
      optionalInt(GEN_AI.reasoningTokens, reasoning),
      optionalInt(GEN_AI.cacheReadTokens, cacheRead),
      optionalInt(GEN_AI.cacheWriteTokens, cacheWrite),
    ),
)
