// Agents whose model says what a test wrote down, and their tasks as strict clients read them.
import { createTestApp, type TestApp } from './app.ts'
import { strictTask } from './strict/agents.ts'
import { type Json, workspaceOf } from './workspace.ts'

/** A turn of the model: what it says, or the tools that it calls. */
export type ModelTurn = string | { name: string; arguments?: Json; id?: string }[] | Json

const replyOf = (turn: ModelTurn): Json =>
  typeof turn === 'string' ? { content: turn } : Array.isArray(turn) ? { tool_calls: turn } : turn

let unique = 0

/** A session of its own with agents; `turns` are what the model says, one after another. */
export function agentSession(app: TestApp = createTestApp(), settings: Json = {}, name = `agents-${++unique}`) {
  const headers = { 'x-understudy-session': name }
  const { call, ok } = workspaceOf(app, headers)
  return {
    app,
    name,
    headers,
    call,
    ok,
    /** Makes the session, whose model answers with these turns by turn. */
    begin: (turns: readonly ModelTurn[], more: readonly Json[] = []) =>
      ok('POST', '/_understudy/sessions', {
        name,
        clock: 'virtual',
        ...settings,
        fixtures: [...more, { name: 'turns', match: { operation: 'chat.completions' }, replies: turns.map(replyOf) }],
      }),
    agent: (fields: Json = {}): Promise<Json> =>
      ok('POST', '/v2/agents', {
        key: 'helper',
        role: 'Helper',
        description: 'Helps.',
        instructions: 'Help.',
        path: 'Default',
        model: 'openai/gpt-4o',
        settings: {},
        ...fields,
      }),
    /** Submits a task and waits for the end of its turn. */
    async ask(message: string | Json, more: Json = {}, agent = 'helper') {
      const answer = await call('POST', `/v2/agents/${agent}/task`, taskBody(message, more))
      if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
      return strictTask.parse(answer.body)
    },
    /** Reads a task until it is no longer active. */
    async settled(id: string, agent = 'helper') {
      for (;;) {
        const task = strictTask.parse(await ok('GET', `/v2/agents/${agent}/tasks/${id}`))
        if (task.status.state !== 'submitted' && task.status.state !== 'working') return task
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}
export type AgentSession = ReturnType<typeof agentSession>
export type StrictTask = ReturnType<typeof strictTask.parse>

/** The body of a blocking task. */
export const taskBody = (message: string | Json, more: Json = {}): Json => ({
  message: typeof message === 'string' ? { role: 'user', parts: [{ kind: 'text', text: message }] } : message,
  configuration: { blocking: true },
  ...more,
})

/** A message with the results of tools. */
export const results = (...given: [id: string, result: unknown][]): Json => ({
  role: 'tool',
  parts: given.map(([tool_call_id, result]) => ({ kind: 'tool_result', tool_call_id, result })),
})

/** Each message as its role and what it says, for short expectations. */
export const story = ({ messages = [] }: StrictTask): string[] =>
  messages.map(
    ({ role, parts }) =>
      `${role}: ${parts
        .map((part) => {
          switch (part.kind) {
            case 'text':
              return part.text
            case 'tool_call':
              return `${part.tool_name}(${JSON.stringify(part.arguments)})`
            case 'tool_result':
              return JSON.stringify(part.result)
            default:
              return part.kind
          }
        })
        .join(' ')}`,
  )
