// The record of one call, as it is stored and shown.
import { z } from 'zod'

/** How a call or an attempt ended; `bug` when the program itself has failed. */
export const OutcomeKind = z.enum([
  'answered',
  'refused',
  'timed out',
  'disconnected',
  'unreadable',
  'cancelled',
  'bug',
])
export type OutcomeKind = z.infer<typeof OutcomeKind>

const milliseconds = z.number().describe("Milliseconds of the session's clock.")

/** One try of one target. */
export const AttemptRecord = z.object({
  target: z.string().describe('The target model, as `<provider>/<model>`.'),
  position: z.int().min(0).describe('0 is the primary target, 1 the first fallback.'),
  number: z.int().min(1).describe('Number of the attempt at this target, from 1.'),
  why: z.enum(['first', 'retry', 'fallback']).describe('Whether it is the first attempt, a retry, or a fallback.'),
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
})
export type AttemptRecord = z.infer<typeof AttemptRecord>

/** What the cache did for a call. */
const CacheRecord = z.object({
  status: z.enum(['hit', 'miss']).describe('Whether a stored answer was there.'),
  key: z.string().describe('Hash of what equal calls have in common.'),
  age_ms: milliseconds.nullable().describe('Age of the stored answer.'),
  started_ms: milliseconds.optional().describe('When it was asked, from the start of the call.'),
})
/** When a step of the gateway was; absent of traces from before it was kept. */
const STEP_TIMES = {
  started_ms: milliseconds.optional().describe('Time since the start of the call.'),
  duration_ms: milliseconds.optional(),
}
/** What an evaluator gave for a text. */
export const Evaluation = z.object({
  value: z.union([z.boolean(), z.number(), z.string()]).nullable().describe('Null when its model gave none.'),
  model: z.string().nullable().describe('The model that was asked.'),
  fixture: z.string().nullable().describe('The fixture that answered.'),
  synthesized: z.boolean().describe('No fixture matched, so a value that passes was taken.'),
  traces: z.array(z.string()).describe('The calls in which its model was asked.'),
})
export type Evaluation = z.infer<typeof Evaluation>
/** One guardrail's verdict. */
export const GuardrailRecord = z.object({
  id: z.string().describe('Which guardrail.'),
  stage: z.enum(['input', 'output']).describe('Whether it looked at the input or the output.'),
  outcome: z
    .enum(['passed', 'blocked', 'alerted', 'unchecked'])
    .describe('`alerted` is let through although it does not pass; `unchecked` was not looked at.'),
  reason: z.string().nullable().describe('Why it does not pass, or was not checked.'),
  evaluation: Evaluation.nullable().describe('What the evaluator gave; null when none was run.'),
  ...STEP_TIMES,
})
export type GuardrailRecord = z.infer<typeof GuardrailRecord>
/** One search of a knowledge base. */
export const RetrievalRecord = z.object({
  knowledge_id: z.string(),
  search_type: z.string().describe('How was searched.'),
  query: z.string().describe('What was looked for.'),
  chunks: z
    .array(
      z.object({
        id: z.string().describe('Id of the chunk.'),
        score: z.number().describe('How well it fits: 1 is best.'),
        text: z.string().describe('What it says.'),
      }),
    )
    .describe('What was found, best first.'),
  ...STEP_TIMES,
})
export type RetrievalRecord = z.infer<typeof RetrievalRecord>

/** One step of a task, as the journal has it. */
export const TaskStep = z.object({
  turn: z.int().min(1).describe('Which turn of the task, from 1.'),
  iteration: z.int().min(0).describe('Which model call of the turn it belongs to, from 1; 0 is before the first.'),
  kind: z.enum(['model', 'tool', 'wait', 'task']).describe('`task` is a sub-task, `wait` what the task waits for.'),
  name: z.string().describe('The model, the tool, or the agent of the sub-task.'),
  tool_call_id: z.string().describe('The call of a tool; null for other steps.').nullable(),
  started_at: z.iso.datetime().describe('When it began: ISO 8601.'),
  duration_ms: milliseconds,
  outcome: z.enum(['answered', 'failed', 'waiting']),
  error: z.string().describe('Why it failed, or null.').nullable(),
  trace: z.string().nullable().describe('The trace of a model call, or of the sub-task.'),
  task: z.string().nullable().describe('The sub-task.'),
  fixture: z.string().optional().describe('The fixture that answered a tool.'),
  usage: z.looseObject({}).nullable().describe('Tokens of a model call.'),
  cost: z.number().nullable().describe('What a model call would have cost in USD at list price.'),
  faults: z.array(z.string()).optional().describe('Rules of the scenario whose faults have acted on a tool.'),
  late: z.literal(true).optional().describe('It came when the task was canceled already.'),
  evaluations: z
    .array(
      Evaluation.extend({
        id: z.string().describe('Id of the evaluator.'),
        reason: z.string().describe('Why it says so; null when it gave no reason.').nullable(),
      }),
    )
    .optional()
    .describe('What evaluators of the agent say of a model call.'),
})
export type TaskStep = z.infer<typeof TaskStep>

/** What the trace of a turn shows of its task. */
export const TaskTrace = z.object({
  id: z.string().describe('Id of the task.'),
  context_id: z.string().describe('Id of the conversation that the task belongs to.'),
  agent: z.string().describe('Its key.'),
  turn: z.int().min(1).describe('Which turn of the task, from 1.'),
  state: z.string().describe('How the turn left the task.'),
  finish_reason: z.string().describe('Why the turn ended; null when it has not.').nullable(),
  parent: z.string().nullable().describe('The task that it works for.'),
  iterations: z.int().min(0).describe('Model calls of the turn.'),
  steps: z.array(TaskStep).describe('Of this turn.'),
})
export type TaskTrace = z.infer<typeof TaskTrace>

/** The operation of a call that went to a path that there is not. */
export const NO_OPERATION = 'none'

/** Everything about a call but its request and answer, which are kept as the texts they were on the wire. */
export const TraceRecord = z.object({
  id: z.string().describe('Names the trace; `x-understudy-trace` of the answer has it.'),
  session: z.string(),
  instance: z
    .string()
    .optional()
    .describe('The process that answered; absent when it has no name of its own and listens on a port that was free.'),
  new_session: z
    .literal(true)
    .optional()
    .describe('Only of the first call of a session that nobody has made: the session began here by being called.'),
  operation: z.string().describe('`none` for a call of a path that there is not.'),
  parent: z.string().nullable().describe('The trace of the call from inside which it was made; null when none did.'),
  inner: z.boolean().describe('Made from inside, such as by an evaluator, and not by a client.'),
  name: z.string().describe('Display name given by the call, else the operation.'),
  point: z
    .string()
    .optional()
    .describe("Which of the client's calls it is, whatever its user said; absent of calls from inside."),
  model: z.string().describe('The model that answered; null when none did.').nullable(),
  assumed: z
    .record(z.string(), z.string())
    .optional()
    .describe('Models that the request names without a provider, as the default one has them, by the field.'),
  stream: z.boolean().describe('Whether the answer was asked for as a stream.'),
  route: z
    .enum(['direct', 'gateway'])
    .describe(
      'Whether the call went straight to its provider, as calls of a compatible API without gateway options do, or through the gateway. Of a direct call, `outcome` is what a correct client makes of the bytes that were sent.',
    ),
  status: z.int().describe('The status of the answer.'),
  outcome: OutcomeKind,
  started_at: z.iso.datetime().describe('When it began: ISO 8601.'),
  duration_ms: milliseconds,
  fixture: z.string().nullable().describe('The fixture that answered; null when none did.'),
  synthesized: z.boolean().describe('No fixture matched, so the answer was made up.'),
  plan: z.array(z.string()).describe('The targets, in the order in which they would be tried.'),
  scenario: z.string().nullable().describe('The scenario that was played.'),
  faults: z.array(z.string()).describe('Rules of the scenario whose faults have acted on what the client hears.'),
  attempts: z.array(AttemptRecord).describe('Each try of each target, in order.'),
  cache: CacheRecord.nullable().describe('Null when the call asked for no cache.'),
  guardrails: z.array(GuardrailRecord).describe('What guardrails said.'),
  retrievals: z.array(RetrievalRecord).describe('Searches of knowledge bases.'),
  retry_after_ms: milliseconds.nullable().describe('How long the client was told to wait before it calls again.'),
  usage: z
    .looseObject({})
    .describe('Tokens of the answer, in the words of its operation; null when there is none.')
    .nullable(),
  cost: z
    .number()
    .nullable()
    .describe('What the call would have cost in USD at list price; null when that is not known.'),
  attachments: z
    .array(
      z.object({
        kind: z.enum(['image', 'audio', 'file']).describe('What it is.'),
        name: z.string().describe('Name.'),
      }),
    )
    .describe('Files and pictures in the request.'),
  metadata: z.looseObject({}).describe('That of the request.').nullable(),
  identity: z.looseObject({}).describe('That of the request.').nullable(),
  thread: z.looseObject({}).describe('That of the request.').nullable(),
  error: z
    .object({
      message: z.string().describe('Error message.'),
      type: z.string().describe('Error type.'),
      param: z.string().describe('Path of the field at fault.').nullable(),
      code: z.string().describe('Machine-readable error code.'),
    })
    .describe('What the client was told; null when the call was answered.')
    .nullable(),
  task: TaskTrace.optional().describe('Only of a turn of an agent: its task.'),
})
export type TraceRecord = z.infer<typeof TraceRecord>

/** A trace with what is stored beside it. */
export const StoredTrace = TraceRecord.extend({
  request_headers: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Headers of the call without secrets; null where they were not kept, as of most of very many calls.'),
  request: z.unknown().describe('The body as it came.'),
  rendered: z
    .unknown()
    .describe(
      'The request as the gateway understood it: with variables, knowledge and assumed providers filled in, that of another API in the words of this one; null when it is as it came.',
    ),
  answer: z.unknown().describe('The whole answer; a stream put together again.'),
})
export type StoredTrace = z.infer<typeof StoredTrace>
