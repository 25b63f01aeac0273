// Agents: their tasks, labeled by their prompts, with each message. Tool calls that require approval are decided here.
import { useState } from 'preact/hooks'
import { askJson, askWorkspace } from '../state/api.ts'
import { calmChanges, taskPrompts } from '../state/call-list.ts'
import { sessionChanges, taskChanges } from '../state/live.ts'
import { hashOf, here } from '../state/route.ts'
import { ActionButton } from '../ui/action.tsx'
import { Page, TextField } from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { SessionChoice, sessionHere, withSession } from './session-choice.tsx'
import { type Task, TaskPanel } from './task.tsx'

interface Agent {
  _id: string
  key: string
  display_name?: string | null
  description?: string | null
  role?: string | null
}

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
