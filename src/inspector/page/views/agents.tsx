// Agents: their tasks, labeled by their prompts, with each message. Tool calls that require approval are decided here.
import { useState } from 'preact/hooks'
import type { Agent } from '../../../contract/workspace/agent.ts'
import type { AgentTask, TaskPart } from '../../../contract/workspace/agent-task.ts'
import { askJson, askWorkspace } from '../state/api.ts'
import { calmChanges, taskPrompts } from '../state/call-list.ts'
import { costText, countedText } from '../state/format.ts'
import { sessionChanges, taskChanges } from '../state/live.ts'
import { hashOf, here } from '../state/route.ts'
import { ActionButton, Page, TextField } from '../ui/layout.tsx'
import { type LoadedWhen, useLoaded } from '../ui/loaded.ts'
import { SessionChoice, sessionHere, withSession } from './sessions.tsx'

const listOf = async <Value,>(path: string, session: string) =>
  (await askWorkspace<{ data: Value[] }>(path, session)).data

/** The view. */
export function AgentsView() {
  const session = sessionHere()
  const agents = useLoaded(() => listOf<Agent>('/v2/agents?limit=100', session), [session, sessionChanges.value])
  const key = here.value.params.get('agent') ?? agents.value?.[0]?.key
  return (
    <Page title="Agents" beside={<SessionChoice />}>
      {agents.error !== undefined && <p class="callout bad">{agents.error}</p>}
      {agents.value?.length === 0 && <p class="note">This session has no agents. Create one with POST /v2/agents.</p>}
      <div class="columns">
        <nav class="list" aria-label="Agents">
          {agents.value?.map((agent) => (
            <a
              key={agent._id}
              href={hashOf('agents', withSession({ agent: agent.key }))}
              aria-current={agent.key === key ? 'true' : undefined}
            >
              <strong>{agent.display_name ?? agent.key}</strong>
              <span class="note">{agent.role ?? agent.description ?? agent.key}</span>
            </a>
          ))}
        </nav>
        {key !== undefined && <Tasks key={key} agent={key} session={session} />}
      </div>
    </Page>
  )
}

function Tasks({ agent, session }: { agent: string; session: string }) {
  const path = `/v2/agents/${encodeURIComponent(agent)}`
  const when = [session, agent, taskChanges.value, calmChanges.value, sessionChanges.value]
  const tasks = useLoaded(() => listOf<Task>(`${path}/tasks`, session), when)
  const prompts = taskPrompts()
  const id = here.value.params.get('task') ?? tasks.value?.[0]?.id
  return (
    <div class="stack">
      <NewTask path={path} session={session} reload={tasks.reload} />
      {tasks.error !== undefined && <p class="callout bad">{tasks.error}</p>}
      {tasks.value?.length === 0 && <p class="note">No tasks yet.</p>}
      <nav class="chips" aria-label="Tasks">
        {tasks.value?.map((task) => (
          <a
            key={task.id}
            href={hashOf('agents', withSession({ agent, task: task.id }))}
            aria-current={task.id === id ? 'true' : undefined}
          >
            <span class={`pill ${TONES[task.status.state] ?? ''}`}>{task.status.state}</span>
            <span class="title">{prompts.get(task.id) ?? `…${task.id.slice(-6)}`}</span>
          </a>
        ))}
      </nav>
      {id !== undefined && <TaskPanel key={id} path={`${path}/tasks/${id}`} session={session} when={when} />}
    </div>
  )
}

/** The tones of the states of tasks. */
const TONES: Record<string, string> = {
  completed: 'good',
  failed: 'bad',
  rejected: 'bad',
  'input-required': 'warning',
}

function NewTask({ path, session, reload }: { path: string; session: string; reload: () => void }) {
  const [text, setText] = useState('')
  const send = async () => {
    const message = { role: 'user', parts: [{ kind: 'text', text }] }
    await askJson(`${path}/task`, { method: 'POST', body: { message }, session })
    setText('')
    reload()
  }
  return (
    <form class="actions" onSubmit={(event) => event.preventDefault()}>
      <TextField
        room="grow"
        label="Message to the agent"
        placeholder="Send the agent a message"
        value={text}
        onChange={setText}
      />
      <ActionButton act={send} disabled={text.trim() === ''}>
        Send
      </ActionButton>
    </form>
  )
}

/** A task, with what Understudy adds to it. */
type Task = AgentTask & {
  metadata: {
    finish_reason?: string
    iterations: number
    cost: number
    pending_actions?: { action_type: string; agent_tool_call_id: string; state: { input: unknown } }[]
  }
}

/** The task of a path. */
function TaskPanel({ path, session, when }: { path: string; session: string; when: LoadedWhen }) {
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
      {task.status.message?.parts.map((part) => part.kind === 'error' && <p class="callout bad">{part.error}</p>)}
    </section>
  )
}

function textOf(part: TaskPart): string {
  if (part.kind === 'text') return part.text
  if (part.kind === 'tool_call') return `${part.tool_name}(${JSON.stringify(part.arguments)})`
  if (part.kind === 'error') return part.error
  const value = part.kind === 'tool_result' ? part.result : part.data
  return typeof value === 'string' && part.kind === 'tool_result'
    ? value
    : (JSON.stringify(value, null, 2) ?? `[${part.kind}]`)
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
