// What a killed server must not lose beside traces: decisions about calls of tools, results of tools, and how far the replies of a
// conversation have come. Clients do such work until the server is killed; what was answered is looked for after its next start.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { headers } from './headers.ts'

/** Replies of a conversation; more than any trial asks for. */
const REPLIES = 2_000
/** Calls of tools that a task asks for at once. */
const CALLS = 4

const FIXTURES: Record<string, unknown> = {
  'chat.completions/count.json': {
    match: { user: { contains: 'Count' } },
    replies: Array.from({ length: REPLIES }, (_, index) => ({ content: String(index + 1) })),
  },
  'chat.completions/search.json': [
    {
      name: 'search',
      match: { user: { contains: 'Search' }, tool_result: false },
      reply: {
        tool_calls: Array.from({ length: CALLS }, (_, index) => ({
          name: 'google_search',
          arguments: { query: `q${index}` },
        })),
      },
    },
    { name: 'done', match: { user: { contains: 'Search' }, tool_result: true }, reply: { content: 'Done.' } },
  ],
  'agents.tools/search.json': {
    match: { operation: 'agents.tools', tool: 'google_search' },
    replies: Array.from({ length: CALLS }, (_, index) => ({
      result: `result ${index}`,
      timing: { duration: `${index * 2}ms` },
    })),
  },
}

/** Writes the fixtures of the work into a folder; gives the folder. */
export function writeFixtures(folder: string): string {
  const fixtures = join(folder, 'fixtures')
  for (const [name, value] of Object.entries(FIXTURES)) {
    const file = join(fixtures, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(value))
  }
  return fixtures
}

/** What was answered, by kind. */
export interface Work {
  /** Decisions about calls of tools that were answered with 200: of which task, of which call. */
  decisions: { task: string; call: string; decision: 'approve' | 'reject' }[]
  /** Results of tools that a client has read. */
  results: { task: string; call: string; result: string }[]
  /** The last reply of each conversation that was answered, and how many calls the kill has cut off. */
  talks: { thread: string; last: number; cut: number }[]
}

type Json = Record<string, unknown>
interface Part {
  kind: string
  tool_call_id: string
  result?: unknown
}
interface Task {
  id: string
  status: { state: string; message?: { parts: Part[] } }
  messages?: { role: string; parts: Part[] }[]
}

async function call<Answer>(url: string, method: string, path: string, body?: Json): Promise<Answer> {
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  if (!answer.ok) throw new WorkError(`${method} ${path} was answered with ${answer.status}: ${text.slice(0, 300)}`)
  return JSON.parse(text) as Answer
}
/** The server answered, and not as it should. */
export class WorkError extends Error {}

const AGENT = '/v2/agents/searcher'
/** Makes the agent of the work. */
export const begin = (url: string): Promise<unknown> =>
  call(url, 'POST', '/v2/agents', {
    ...{ key: 'searcher', role: 'Searcher', description: 'Searches.', instructions: 'Search.', path: 'Default' },
    model: 'openai/gpt-4o',
    settings: { tool_approval_required: 'all', tools: [{ type: 'google_search' }] },
  })

const readTask = (url: string, id: string) => call<Task>(url, 'GET', `${AGENT}/tasks/${id}`)
const partsOf = ({ messages = [] }: Task, kind: string): Part[] =>
  messages.flatMap(({ parts }) => parts.filter((part) => part.kind === kind))
const resultText = ({ result }: Part): string => JSON.stringify(result)

/** One task: its calls are decided one after the other, and its results are read as they come. */
async function doTask(url: string, work: Work): Promise<void> {
  const message = { role: 'user', parts: [{ kind: 'text', text: 'Search.' }] }
  const { id } = await call<Task>(url, 'POST', `${AGENT}/task`, { message })
  let task = await readTask(url, id)
  while (task.status.state !== 'input-required' && task.status.state !== 'input_required') {
    if (task.status.state === 'failed') throw new WorkError(`a task failed: ${JSON.stringify(task.status)}`)
    task = await readTask(url, id)
  }
  const calls = (task.status.message?.parts ?? []).filter(({ kind }) => kind === 'tool_call')
  for (const [index, { tool_call_id }] of calls.entries()) {
    const decision = index % 3 === 2 ? 'reject' : 'approve'
    await call(url, 'POST', `/_understudy/tasks/${id}/${decision}`, { tool_call_id })
    work.decisions.push({ task: id, call: tool_call_id, decision })
    const known = new Set(work.results.filter((one) => one.task === id).map((one) => one.call))
    for (const part of partsOf(await readTask(url, id), 'tool_result')) {
      if (!known.has(part.tool_call_id))
        work.results.push({ task: id, call: part.tool_call_id, result: resultText(part) })
    }
  }
}

/** A conversation, whose replies follow each other. */
async function talk(
  url: string,
  { thread, over, work }: { thread: string; over(): boolean; work: Work },
): Promise<void> {
  const of = { thread, last: 0, cut: 0 }
  work.talks.push(of)
  try {
    while (!over()) of.last = Number(await reply(url, thread))
  } catch (error) {
    of.cut++
    throw error
  }
}

async function reply(url: string, thread: string): Promise<string> {
  const messages = [{ role: 'user', content: 'Count.' }]
  const body = { model: 'openai/gpt-4o', messages, thread: { id: thread } }
  const answer = await call<{ choices: { message: { content: string } }[] }>(
    url,
    'POST',
    '/v2/router/chat/completions',
    body,
  )
  return answer.choices[0]?.message.content ?? ''
}

/** Does work until the server is killed; `name` tells its conversations from those of others. */
export async function workUntilKilled(url: string, { name, over }: { name: string; over(): boolean }): Promise<Work> {
  const work: Work = { decisions: [], results: [], talks: [] }
  const doing = async (run: () => Promise<void>) => {
    try {
      while (!over()) await run()
    } catch (error) {
      if (error instanceof WorkError || !over()) throw error
    }
  }
  await Promise.all([
    ...[1, 2, 3, 4].map(() => doing(() => doTask(url, work))),
    ...[1, 2].map((number) => doing(() => talk(url, { thread: `${name}-${number}`, over, work }))),
  ])
  return work
}

/** How much work was done. */
export const sizeOf = ({ decisions, results, talks }: Work) => ({
  decisions: decisions.length,
  results: results.length,
  replies: talks.reduce((sum, { last }) => sum + last, 0),
})

/** What was answered and is not so any more, in a few words each; the server has been started again. */
export async function lostWork(url: string, { decisions, results, talks }: Work): Promise<string[]> {
  const lost: string[] = []
  const ids = new Set([...decisions, ...results].map(({ task }) => task))
  for (const id of ids) {
    let task = await readTask(url, id)
    while (task.status.state === 'working' || task.status.state === 'submitted') task = await readTask(url, id)
    const found = partsOf(task, 'tool_result')
    const waiting = (task.status.message?.parts ?? []).map(({ tool_call_id }) => tool_call_id)
    for (const { call: decided, decision } of decisions.filter((one) => one.task === id)) {
      const its = found.filter(({ tool_call_id }) => tool_call_id === decided)
      const isRejected = its.some((part) => resultText(part).includes('rejected'))
      if (waiting.includes(decided) && its.length === 0) lost.push(`the decision about ${decided} of ${id}`)
      else if (its.length > 0 && isRejected !== (decision === 'reject')) lost.push(`${decision} of ${decided} of ${id}`)
      if (its.length > 1) lost.push(`${decided} of ${id} has ${its.length} results`)
    }
    for (const { call: made, result } of results.filter((one) => one.task === id)) {
      if (!found.some((part) => part.tool_call_id === made && resultText(part) === result))
        lost.push(`the result of ${made} of ${id}`)
    }
  }
  for (const { thread, last, cut } of talks) {
    const next = Number(await reply(url, thread))
    // What the kill cut off may have been counted, or not.
    if (next <= last || next > last + cut + 1) lost.push(`reply ${next} after ${last} of ${thread} (${cut} cut off)`)
  }
  return lost
}
