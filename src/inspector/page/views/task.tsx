// An agent task, message by message, with pending approvals.
import { useState } from 'preact/hooks'
import { askJson, askWorkspace } from '../state/api.ts'
import { costText, countedText } from '../state/format.ts'
import { hashOf } from '../state/route.ts'
import { ActionButton } from '../ui/action.tsx'
import { TextField } from '../ui/layout.tsx'
import { type LoadedWhen, useLoaded } from '../ui/loaded.ts'

interface TaskPart {
  kind: string
  text?: string
  tool_name?: string
  tool_call_id?: string
  arguments?: unknown
  result?: unknown
  error?: string
  data?: unknown
}

/** A task in a response of the API. */
export interface Task {
  id: string
  status: { state: string; timestamp?: string; message?: { parts: TaskPart[] } }
  messages?: { messageId: string; role: string; parts: TaskPart[] }[]
  metadata: {
    trace_id: string
    finish_reason?: string
    iterations: number
    cost: number
    pending_actions?: { action_type: string; agent_tool_call_id: string; state: { input: unknown } }[]
  }
}

/** The task of a path. */
export function TaskPanel({ path, session, when }: { path: string; session: string; when: LoadedWhen }) {
  const { value: task, error, reload } = useLoaded(() => askWorkspace<Task>(path, session), when)
  if (error !== undefined) return <p class="callout bad">{error}</p>
  if (!task) return null
  const { state } = task.status
  const question =
    task.messages
      ?.find(({ role }) => role === 'user')
      ?.parts.map(textOf)
      .join(' ') ?? `Task ${task.id}`
  const { finish_reason: reason, iterations, cost, trace_id: trace, pending_actions: pending = [] } = task.metadata
  return (
    <section class="card" aria-label={`Task ${task.id}`}>
      <header>
        <h2 class="question">{question}</h2>
        <span class="note">
          {[state, reason, countedText(iterations, 'iteration'), costText(cost)].filter(Boolean).join(' · ')}
        </span>
        <a href={hashOf('calls', { call: trace })}>Timeline of the last turn</a>
        {['submitted', 'working', 'input-required'].includes(state) && (
          <ActionButton kind="danger" act={() => askJson(`${path}/cancel`, { method: 'POST', session }).then(reload)}>
            Cancel
          </ActionButton>
        )}
      </header>
      {pending.map((action) => (
        <Decision key={action.agent_tool_call_id} task={task.id} action={action} session={session} reload={reload} />
      ))}
      <div class="sayings">
        {task.messages?.map(({ messageId, role, parts }) => (
          <div key={messageId} class={`saying ${role === 'agent' ? 'assistant' : role}`}>
            <span class="role">{role}</span>
            <div class="text">{parts.map(textOf).join('\n')}</div>
          </div>
        ))}
      </div>
      {task.status.message?.parts.map(({ error: failure }) => failure && <p class="callout bad">{failure}</p>)}
    </section>
  )
}

function textOf({ kind, text, tool_name, arguments: input, result, error, data }: TaskPart): string {
  if (text !== undefined) return text
  if (tool_name !== undefined) return `${tool_name}(${JSON.stringify(input)})`
  if (result !== undefined) return typeof result === 'string' ? result : JSON.stringify(result, null, 2)
  return error ?? (data === undefined ? `[${kind}]` : JSON.stringify(data, null, 2))
}

interface DecisionProps {
  task: string
  action: NonNullable<Task['metadata']['pending_actions']>[number]
  session: string
  reload: () => void
}

function Decision({ task, action, session, reload }: DecisionProps) {
  const [reason, setReason] = useState('')
  const decide = (verb: 'approve' | 'reject') => () => {
    const body = { tool_call_id: action.agent_tool_call_id, ...(verb === 'reject' && reason && { reason }) }
    return askJson(`/_understudy/tasks/${task}/${verb}`, { method: 'POST', body, session }).then(reload)
  }
  return (
    <div class="callout warn decision">
      <p>
        <strong>{action.action_type}</strong> requires approval. Input:{' '}
        <code>{JSON.stringify(action.state.input)}</code>
      </p>
      <p class="actions">
        <ActionButton kind="primary" act={decide('approve')}>
          Approve
        </ActionButton>
        <ActionButton act={decide('reject')}>Reject</ActionButton>
        <TextField
          room="grow"
          label="Reason for the rejection"
          placeholder="reason, sent to the model"
          value={reason}
          onChange={setReason}
        />
      </p>
    </div>
  )
}
