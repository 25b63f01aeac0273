// The chat call that one iteration is: the agent's prompt and parameters, the history, the tools.
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

/** What a chat call is made of. */
export interface RequestParts {
  manifest: TurnManifest
  says: TaskSayings
  history: readonly MessageRecord[]
  offered: ReadonlyMap<string, AgentFunction>
  /** Those of the agent's guardrails that look at this one, beside those of its model's parameters. */
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

/** Each guardrail once for each stage that it looks at. */
const joined = (...lists: RequestParts['guardrails'][]): RequestParts['guardrails'] => [
  ...new Map(lists.flat().map((one) => [`${one.execute_on} ${one.id}`, one])).values(),
]

/** What chat takes of a task's metadata: a few short texts. */
const chatMetadata = (metadata: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(metadata)
      .filter(([key, value]) => key.length <= 64 && typeof value === 'string' && value.length <= 512)
      .slice(0, 16),
  )

/** The checks that look at one iteration: each by its share of them, as chance will have it. */
export const sampled = (
  checks: readonly AgentCheck[],
  { session, task, iteration }: { session: Session; task: AgentTaskRecord; iteration: number },
): AgentCheck[] =>
  checks.filter(({ id, sample_rate }) => {
    const luck = chance(session.seed, session.name, 'sample', task._id, task.turn.number, iteration, id)
    return luck * 100 < sample_rate
  })
