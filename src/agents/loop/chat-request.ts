// The chat call of one iteration: the agent's prompt and parameters, the history, the tools.
import type { MessageRecord, TaskSayings } from '../../contract/workspace/task-record.ts'
import { chance } from '../../lib/chance.ts'
import type { Session } from '../../sessions/sessions.ts'
import {
  type AgentCheck,
  type AgentFunction,
  type AgentTaskRecord,
  fallbackModels,
  type TurnManifest,
} from '../store/manifest.ts'
import { chatMessagesOf } from '../store/messages.ts'

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
  const fallbacks = fallbackModels(manifest).map((fallback) => ({ model: fallback.model }))
  const checks = joined((parameters.guardrails ?? []) as RequestParts['guardrails'], guardrails)
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

/** Each guardrail once per stage. */
const joined = (...lists: RequestParts['guardrails'][]): RequestParts['guardrails'] => [
  ...new Map(lists.flat().map((one) => [`${one.execute_on} ${one.id}`, one])).values(),
]

/** The part of a task's metadata that chat accepts: a few short texts. */
const chatMetadata = (metadata: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(metadata)
      .filter(([key, value]) => key.length <= 64 && typeof value === 'string' && value.length <= 512)
      .slice(0, 16),
  )

/** The checks of one iteration, each sampled by its rate. */
export const sampled = (
  checks: readonly AgentCheck[],
  { session, task, iteration }: { session: Session; task: AgentTaskRecord; iteration: number },
): AgentCheck[] =>
  checks.filter(({ id, sample_rate }) => {
    const random = chance(session.seed, session.name, 'sample', task._id, task.turn.number, iteration, id)
    return random * 100 < sample_rate
  })
