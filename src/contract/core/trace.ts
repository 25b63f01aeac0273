// The record of one call, as it is stored and shown.

import { z } from 'zod'
import { describedList, describedObject } from './described.ts'
import { HistoryRecord } from './history.ts'
import { OutcomeKind } from './outcome-kind.ts'

const milliseconds = z.number().describe("Milliseconds of the session's clock.")

/** An attempt: one try of one target. */
export const AttemptRecord = z.object({
  target: z.string().describe('The target model, as `<provider>/<model>`.'),
  position: z.int().min(0).describe('0 is the primary target, 1 the first fallback.'),
  number: z.int().min(1).describe('Number of the attempt at this target, from 1.'),
  reason: z.enum(['first', 'retry', 'fallback']).describe('Whether it is the first attempt, a retry, or a fallback.'),
  faults: z.array(z.string()).describe('Scenario rules whose faults were injected.'),
  wait_ms: milliseconds.describe('Wait before the attempt.'),
  started_ms: milliseconds.describe('Time since the start of the call.'),
  first_content_ms: milliseconds.nullable().describe('Time from the start of the call to the first content.'),
  duration_ms: milliseconds,
  outcome: OutcomeKind,
  status: z.int().describe('The status of the response, or the status that represents the failure.'),
  request_id: z.string().nullable().describe("The provider's request id, or null."),
  error: z.string().describe('Why it failed, or null.').nullable(),
  fixture: z.string().optional().describe('The fixture that produced the error, if any.'),
  history: HistoryRecord.optional().describe('Why the provider rejects the conversation, if it does.'),
})
export type AttemptRecord = z.infer<typeof AttemptRecord>

/** The cache result of a call. */
const CacheRecord = z.object({
  status: z.enum(['hit', 'miss']).describe('Cache result.'),
  key: z.string().describe('Cache key.'),
  age_ms: milliseconds.nullable().describe('Age of the stored response.'),
  started_ms: milliseconds.optional().describe('Time of the lookup from the start of the call.'),
})
/** Times of a step of the gateway; absent from old traces. */
const STEP_TIMES = {
  started_ms: milliseconds.optional().describe('Time since the start of the call.'),
  duration_ms: milliseconds.optional(),
}
/** The result of an evaluator for a text. */
export const Evaluation = z.object({
  value: z.union([z.boolean(), z.number(), z.string()]).nullable().describe('Null if the model returned none.'),
  model: z.string().nullable().describe('The model that was called.'),
  fixture: z.string().nullable().describe('The matched fixture.'),
  generated: z.boolean().describe('Whether no fixture matched, so that a passing result was generated.'),
  traces: z.array(z.string()).describe('The traces of its model calls.'),
})
export type Evaluation = z.infer<typeof Evaluation>
/** One guardrail's verdict. */
export const GuardrailRecord = z.object({
  id: z.string().describe('The guardrail.'),
  stage: z.enum(['input', 'output']).describe('Whether it checked the input or the output.'),
  outcome: z
    .enum(['passed', 'blocked', 'alerted', 'unchecked'])
    .describe('`alerted`: did not pass, but was not blocked. `unchecked`: was not checked.'),
  reason: z.string().nullable().describe('Why it did not pass or was not checked.'),
  evaluation: Evaluation.nullable().describe('Result of the evaluator. Null if none ran.'),
  ...STEP_TIMES,
})
export type GuardrailRecord = z.infer<typeof GuardrailRecord>
/** One search of a knowledge base. */
export const RetrievalRecord = z.object({
  knowledge_id: z.string(),
  search_type: z.string().describe('Search type.'),
  query: z.string().describe('Query.'),
  chunks: describedList('Results, best first.', {
    id: z.string().describe('Id of the chunk.'),
    score: z.number().describe('Score: 1 is best.'),
    text: z.string().describe('Text.'),
  }),
  ...STEP_TIMES,
})
export type RetrievalRecord = z.infer<typeof RetrievalRecord>

/** One step of a task's journal. */
export const TaskStep = z.object({
  turn: z.int().min(1).describe('Turn of the task, from 1.'),
  iteration: z.int().min(0).describe('Iteration of the turn, from 1. 0 means before the first model call.'),
  kind: z
    .enum(['model', 'tool', 'wait', 'task'])
    .describe('Type of the step. `task` is a sub-task; `wait` is a pause of the task.'),
  name: z.string().describe('The model, the tool, or the agent of the sub-task.'),
  tool_call_id: z.string().describe('Id of the tool call. Null for other steps.').nullable(),
  started_at: z.iso.datetime().describe('Start time: ISO 8601.'),
  duration_ms: milliseconds,
  outcome: z.enum(['succeeded', 'failed', 'waiting']),
  error: z.string().describe('Why it failed, or null.').nullable(),
  trace: z.string().nullable().describe('The trace of a model call, or of the sub-task.'),
  task: z.string().nullable().describe('The sub-task.'),
  fixture: z.string().optional().describe('The fixture that produced the tool result.'),
  usage: z.looseObject({}).nullable().describe('Tokens of a model call.'),
  cost: z.number().nullable().describe('Estimated cost of a model call in USD at list price.'),
  faults: z.array(z.string()).optional().describe('Scenario rules whose faults were injected into a tool.'),
  late: z.literal(true).optional().describe('Whether it arrived after the task was canceled.'),
  evaluations: z
    .array(
      Evaluation.extend({
        id: z.string().describe('Id of the evaluator.'),
        reason: z.string().describe('Explanation of the evaluator, or null.').nullable(),
      }),
    )
    .optional()
    .describe("Results of the agent's evaluators for a model call."),
})
export type TaskStep = z.infer<typeof TaskStep>

/** What the trace of a turn shows of its task. */
export const TaskTrace = z.object({
  id: z.string().describe('Id of the task.'),
  context_id: z.string().describe('Id of the conversation that the task belongs to.'),
  agent: z.string().describe('Key.'),
  turn: z.int().min(1).describe('Turn of the task, from 1.'),
  state: z.string().describe('State of the task after the turn.'),
  finish_reason: z.string().describe('Why the turn ended. Null if it has not ended.').nullable(),
  parent: z.string().nullable().describe('The parent task.'),
  iterations: z.int().min(0).describe('Model calls of the turn.'),
  steps: z.array(TaskStep).describe('Token usage of this turn.'),
})
export type TaskTrace = z.infer<typeof TaskTrace>

/** Everything about a call except its request and response, which are stored as their texts on the wire. */
export const TraceRecord = z.object({
  id: z.string().describe('Id of the trace, as in the response header `x-understudy-trace`.'),
  session: z.string(),
  instance: z
    .string()
    .optional()
    .describe('The instance that responded. Absent if it has no name and an automatically assigned port.'),
  new_session: z
    .literal(true)
    .optional()
    .describe('Only on the first call of a session that was created implicitly by that call.'),
  operation: z.string().describe('Name of the operation. `none` for an unknown path.'),
  parent: z.string().nullable().describe('The trace of the parent call, or null.'),
  internal: z
    .boolean()
    .describe('Whether the call is internal, such as one made by an evaluator, instead of by a client.'),
  name: z.string().describe('Display name from the request, or the operation.'),
  call_site: z
    .string()
    .optional()
    .describe("Which of the client's calls it is, whatever its user said; absent of calls from inside."),
  model: z.string().describe('The model that responded, or null.').nullable(),
  assumed: z
    .record(z.string(), z.string())
    .optional()
    .describe('Models that the request names without a provider, with the default provider filled in, by field.'),
  stream: z.boolean().describe('Whether a stream was requested.'),
  route: z
    .enum(['direct', 'gateway'])
    .describe(
      'Whether the call went directly to its provider, as calls of a compatible API without gateway options do, or through the gateway. For a direct call, `outcome` is how a correct client interprets the bytes sent.',
    ),
  status: z.int().describe('Response status.'),
  outcome: OutcomeKind,
  started_at: z.iso.datetime().describe('Start time: ISO 8601.'),
  duration_ms: milliseconds,
  fixture: z.string().nullable().describe('The matched fixture, or null.'),
  generated: z.boolean().describe('Whether no fixture matched, so that the response was generated.'),
  plan: z.array(z.string()).describe('The planned targets, in order.'),
  scenario: z.string().nullable().describe('The active scenario.'),
  faults: z.array(z.string()).describe('Scenario rules whose faults were injected into the response to the client.'),
  attempts: z.array(AttemptRecord).describe('All attempts, in order.'),
  cache: CacheRecord.nullable().describe('Null if the call did not use the cache.'),
  guardrails: z.array(GuardrailRecord).describe('Guardrail results.'),
  retrievals: z.array(RetrievalRecord).describe('Knowledge base searches.'),
  retry_after_ms: milliseconds.nullable().describe('`Retry-After` sent to the client.'),
  usage: z.looseObject({}).describe('Token usage in the format of the operation, or null.').nullable(),
  cost: z.number().nullable().describe('Estimated cost of the call in USD at list price. Null if not known.'),
  attachments: describedList('Files and images in the request.', {
    kind: z.enum(['image', 'audio', 'file']).describe('Type.'),
    name: z.string().describe('Name.'),
  }),
  metadata: z.looseObject({}).describe('Id of the request.').nullable(),
  identity: z.looseObject({}).describe('Id of the request.').nullable(),
  thread: z.looseObject({}).describe('Id of the request.').nullable(),
  error: describedObject('The error sent to the client. Null if the call succeeded.', {
    message: z.string().describe('Error message.'),
    type: z.string().describe('Error type.'),
    param: z.string().describe('Path of the invalid field.').nullable(),
    code: z.string().describe('Machine-readable error code.'),
  }).nullable(),
  task: TaskTrace.optional().describe('The task, for a turn of an agent.'),
})
export type TraceRecord = z.infer<typeof TraceRecord>

/** A trace with the texts that are stored beside it. */
export const StoredTrace = TraceRecord.extend({
  request_headers: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Request headers without secrets. Null if not stored; under heavy load, most are not.'),
  request: z.unknown().describe('The request body as received.'),
  rendered: z
    .unknown()
    .describe(
      'The request as processed by the gateway: with variables, knowledge, and default providers filled in, and translated to the router API. Null if unchanged.',
    ),
  response: z.unknown().describe('The full response. A stream is assembled.'),
})
export type StoredTrace = z.infer<typeof StoredTrace>
