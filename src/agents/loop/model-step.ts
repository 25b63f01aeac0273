// The step that calls the model: one chat call through the gateway, with all of its features.

import { TRACE_ID } from '../../contract/core/answer-headers.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import type { TaskStep } from '../../contract/core/trace.ts'
import type { TaskPart } from '../../contract/workspace/agent-task.ts'
import type { EvaluatorFields } from '../../contract/workspace/evaluator.ts'
import type { MessageRecord, TaskSayings } from '../../contract/workspace/task-record.ts'
import { endpoints } from '../../endpoints/index.ts'
import type { CallOrigin } from '../../gateway/call.ts'
import { chance } from '../../lib/chance.ts'
import { once } from '../../lib/once.ts'
import { evaluate } from '../../resources/evaluators/evaluate.ts'
import { evaluators } from '../../resources/evaluators/evaluators.ts'
import type { Session } from '../../sessions/sessions.ts'
import {
  type AgentCheck,
  type AgentFunction,
  type AgentTaskRecord,
  agentFacts,
  type TurnManifest,
} from '../store/manifest.ts'
import { chatMessagesOf, textsOf, toolCallPart, withOwnIds } from '../store/messages.ts'
import { journalStep } from '../store/turn-trace.ts'
import { awaitCall, type CallUnderWay } from './in-flight.ts'
import { commitStep, type Turn, type TurnChange } from './turn.ts'

/** The operation of iterations. */
export const chatOperation = once(() => {
  const chat = endpoints.find(({ path }) => path === '/v2/router/chat/completions')
  if (!chat) throw new Error('chat completions are not available')
  return chat.operation()
})

/** Requests the next message of the model. A failure is noted in the journal before it ends the turn. */
export async function askModel(turn: Turn): Promise<void> {
  const call = modelCall(turn)
  try {
    await commitStep(turn, call.change(await awaitCall(turn, call)))
  } catch (error) {
    if (turn.signal.aborted || !(error instanceof ApiError)) throw error
    await commitStep(turn, call.failed(error))
    throw error
  }
}

/**
 * The model call of an iteration. It throws the gateway's `ApiError` if it fails, and `failed` creates the journal
 * entry then.
 */
function modelCall(turn: Turn): CallUnderWay<ModelAnswer> & { failed(error: ApiError): TurnChange } {
  const { session, deps, task } = turn
  const started = session.clock.now()
  const iteration = task.turn.iterations + 1
  const { settings, model } = task.manifest
  const guardrails = sampled(settings.guardrails, { session, task, iteration })
  const request = chatRequestOf({ ...task, ...turn, guardrails })
  const key = `${task._id}:${task.turn.number}:${iteration}`
  return {
    ...{ key: 'model', iteration },
    async make(signal) {
      const origin = originOf(turn, signal)
      const agent = agentFacts(task, iteration)
      const { fallbacks } = task.manifest
      const inner = { operation: chatOperation(), request, origin, key, agent, fallbacks }
      const { trace, reply } = await deps.gateway.call(inner)
      const parts = partsOf(reply, turn)
      return { trace, parts, evaluations: await evaluationsOf(turn, parts, { iteration, origin, key }) }
    },
    change:
      ({ trace, parts, evaluations }) =>
      ({ turn: use, totals, manifest }) => {
        const { usage = null, cost = null, model: answering } = session.traces.get(trace) ?? {}
        const name = answering ?? manifest.model
        const about = { kind: 'model', name, iteration, outcome: 'succeeded', trace, usage, cost } as const
        return {
          task: {
            turn: { ...use, iterations: iteration, cost: use.cost + (cost ?? 0) },
            totals: { ...totals, iterations: totals.iterations + 1, cost: totals.cost + (cost ?? 0) },
          },
          messages: [{ role: 'agent', parts, trace }],
          steps: [journalStep(turn, started, { ...about, ...(evaluations.length > 0 && { evaluations }) })],
        }
      },
    failed({ message, headers }) {
      const trace = headers[TRACE_ID] ?? null
      const about = { kind: 'model', name: model, iteration, outcome: 'failed', error: message, trace } as const
      const step = journalStep(turn, started, about)
      return ({ turn: use, totals }) => ({
        task: {
          turn: { ...use, iterations: iteration },
          totals: { ...totals, iterations: totals.iterations + 1 },
        },
        steps: [step],
      })
    },
  }
}

/** The origin of a turn's calls, with the signal that ends them. */
const originOf = ({ session, task }: Turn, signal: AbortSignal): CallOrigin => ({
  session,
  caller: () => task.caller,
  headers: new Headers(task.from.scenario === null ? {} : { 'x-understudy-scenario': task.from.scenario }),
  url: task.from.url,
  retained: true,
  signal,
  trace: task.turn.trace,
})

/** A model's response in an iteration, and its evaluations. */
interface ModelAnswer {
  trace: string
  parts: TaskPart[]
  evaluations: NonNullable<TaskStep['evaluations']>
}

interface Choice {
  message?: {
    content?: string | null
    refusal?: string | null
    tool_calls?: readonly Parameters<typeof toolCallPart>[0][] | null
  }
}

/** The parts of the agent's message for a response. */
function partsOf({ body }: Reply, { history }: Turn): TaskPart[] {
  const value = body.kind === 'value' ? (body.value as { choices?: readonly Choice[] }) : {}
  const { content, refusal, tool_calls } = value.choices?.[0]?.message ?? {}
  const toolCalls = (tool_calls ?? []).map(toolCallPart)
  const messages = history.map(({ message }) => message)
  const calls = withOwnIds(toolCalls, messages)
  const text = content ?? refusal ?? ''
  return [...(text === '' && calls.length > 0 ? [] : [{ kind: 'text' as const, text }]), ...calls]
}

/** The results of the evaluators for this iteration. A failing evaluator reports that, and does not end the task. */
async function evaluationsOf(
  turn: Turn,
  parts: readonly TaskPart[],
  { iteration, origin, key }: { iteration: number; origin: CallOrigin; key: string },
): Promise<ModelAnswer['evaluations']> {
  const { session, task, deps, history } = turn
  const { signal } = origin
  const chosen = sampled(task.manifest.settings.evaluators, { session, task, iteration })
  const userTexts = textsOf(history.findLast(({ message }) => message.role === 'user')?.message.parts ?? [])
  return Promise.all(
    chosen.map(async ({ id, execute_on }, at) => {
      const found = session.records.named(evaluators.kind, task.workspace_id, id)
      const texts = execute_on === 'input' ? userTexts : textsOf(parts)
      const judged = { texts, input: userTexts.join('\n'), signal, key: `${key}:evaluators[${at}]` }
      const nothing = { id, value: null, model: null, fixture: null, generated: false, traces: [] }
      if (!found) return { ...nothing, reason: `there is no evaluator ${JSON.stringify(id)} any more` }
      try {
        const evaluator = found as unknown as EvaluatorFields
        return { id, ...(await evaluate(evaluator, { origin, ask: deps.ask, judged })) }
      } catch (error) {
        if (signal.aborted || !(error instanceof ApiError)) throw error
        return { ...nothing, reason: error.message }
      }
    }),
  )
}

/** The inputs of a chat call. */
interface RequestParts {
  manifest: TurnManifest
  says: TaskSayings
  history: readonly MessageRecord[]
  offered: ReadonlyMap<string, AgentFunction>
  /** The agent's guardrails for this iteration, beside those in its model's parameters. */
  guardrails: readonly { id: string; execute_on: 'input' | 'output' }[]
}

/** The body of the call. */
export function chatRequestOf({ manifest, says, history, offered, guardrails }: RequestParts): object {
  const { model, parameters, retry, system, key } = manifest
  const fallbacks = manifest.fallbacks.map((fallback) => ({ model: fallback.model }))
  const all = [...((parameters.guardrails ?? []) as RequestParts['guardrails']), ...guardrails]
  // Each guardrail once per stage.
  const checks = [...new Map(all.map((one) => [`${one.execute_on} ${one.id}`, one])).values()]
  const tools = [...offered.values()].map(({ definition }) => ({ type: 'function', function: definition }))
  return {
    name: key,
    ...parameters,
    model,
    messages: [{ role: 'system', content: system }, ...chatMessagesOf(history)],
    stream: false,
    ...(tools.length > 0 && { tools }),
    ...(retry && { retry }),
    ...(fallbacks.length > 0 && { fallbacks }),
    ...(checks.length > 0 && { guardrails: checks }),
    ...(says.identity && { identity: says.identity }),
    ...(says.thread && { thread: says.thread }),
    ...(says.metadata && { metadata: chatMetadata(says.metadata) }),
  }
}

/** The part of a task's metadata that chat accepts: a few short texts. */
const chatMetadata = (metadata: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(metadata)
      .filter(([key, value]) => key.length <= 64 && typeof value === 'string' && value.length <= 512)
      .slice(0, 16),
  )

/** The checks of one iteration, each sampled by its rate. */
const sampled = (
  checks: readonly AgentCheck[],
  { session, task, iteration }: { session: Session; task: AgentTaskRecord; iteration: number },
): AgentCheck[] =>
  checks.filter(({ id, sample_rate }) => {
    const random = chance(session.seed, session.name, 'sample', task._id, task.turn.number, iteration, id)
    return random * 100 < sample_rate
  })
