// Conversations that real clients hold and providers accept: no request of them may be refused.
//
// Each line of test/golden/conversations is one run of a program: its requests in order, with what later requests refer to in
// the responses (ids, signatures, encrypted reasoning). The programs ran with the versions that the lines name, under Bun,
// against a scripted server with the response shapes of the three APIs, whole and streamed:
// openai (`runTools`, `parse`, streams and loops over responses), @openai/agents (tools, handoffs, sessions, approvals),
// ai (`generateText`, `streamText`, agents, UI messages), @anthropic-ai/sdk (`toolRunner` and loops with server tools),
// @langchain/langgraph (react agents and graphs), llamaindex (agents and chat engines), @mastra/core (agents with memory).
import { afterAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asObject, asText, objectsIn } from '../../src/lib/values.ts'
import { type Answer, eventsOf, testApps } from '../support/app.ts'

type Json = Record<string, unknown>
/** The facts of a response that later requests repeat, as they were recorded or as they are issued now. */
interface Facts {
  content?: string
  refusal?: string
  /** Text of the reasoning; empty when the provider keeps it to itself. */
  reasoning?: string
  id?: string | undefined
  message?: string | undefined
  reasoning_items?: string[]
  encrypted?: string[]
  signature?: string | undefined
  calls?: { id?: string | undefined; item?: string | undefined; name?: string; arguments?: string; input?: string }[]
}
interface Conversation {
  library: string
  version: string
  name: string
  requests: { path: string; headers?: Record<string, string>; body: Json; reply?: Facts }[]
}

const FOLDER = join(import.meta.dir, '../golden/conversations')
const libraries = readdirSync(FOLDER).map((file): [string, Conversation[]] => {
  const lines = readFileSync(join(FOLDER, file), 'utf8').trimEnd().split('\n')
  return [file.replace('.jsonl', ''), lines.map((line) => JSON.parse(line) as Conversation)]
})
const { appWith, close } = testApps()
afterAll(close)

/** A fixture for every call, with the recorded response. */
function fixtureOf({ content, refusal, reasoning, calls }: Facts): Json {
  const tool_calls = calls?.map(({ name, arguments: text, input }) => ({
    name,
    ...(input === undefined ? { arguments: text } : { input }),
  }))
  const answer = refusal ? { refusal } : { content: content || 'Fine.' }
  return {
    match: { operation: ['chat.completions', 'responses'] },
    reply: {
      ...(tool_calls ? { tool_calls, ...(content && { content }) } : answer),
      ...(reasoning !== undefined && { reasoning: reasoning || 'Hidden.' }),
    },
  }
}

/** The same facts of an answer of this server. */
function factsOf(path: string, body: Json, answer: Answer): Facts {
  const events = body.stream === true ? (eventsOf(answer.text.replaceAll(/^event: .*\n/gm, '')) as Json[]) : []
  if (path.startsWith('/v1/responses')) return responseFacts(asObject(events.at(-1)?.response ?? answer.json()) ?? {})
  if (path.startsWith('/v1/messages')) {
    const blocks = body.stream === true ? [] : objectsIn(answer.json().content)
    const started = [...blocks, ...objectsIn(events.map((event) => event.content_block))]
    const signed = [...blocks, ...objectsIn(events.map((event) => event.delta))]
    const signature = signed.findLast((part) => asText(part.signature))?.signature
    return {
      signature: asText(signature),
      calls: started.filter(({ type }) => type === 'tool_use').map(({ id }) => ({ id: asText(id) })),
    }
  }
  const parts = events.length > 0 ? events : [answer.json()]
  const choices = parts.flatMap((part) => objectsIn(part.choices))
  const calls = choices.flatMap(({ message, delta }) => objectsIn(asObject(message ?? delta)?.tool_calls))
  return { calls: calls.filter(({ id }) => asText(id)).map(({ id }) => ({ id: asText(id) })) }
}

function responseFacts({ id, output }: Json): Facts {
  const items = objectsIn(output)
  const thoughts = items.filter(({ type }) => type === 'reasoning')
  const texts = (values: unknown[]) => values.flatMap((value) => asText(value) ?? [])
  return {
    id: asText(id),
    message: asText(items.find(({ type }) => type === 'message')?.id),
    reasoning_items: texts(thoughts.map((item) => item.id)),
    encrypted: texts(thoughts.map((item) => item.encrypted_content)),
    calls: items
      .filter(({ call_id }) => asText(call_id))
      .map((item) => ({ id: asText(item.call_id), item: asText(item.id) })),
  }
}

const idsIn = (facts: Facts): (string | undefined)[] => [
  ...[facts.id, facts.message, facts.signature, facts.reasoning_items?.[0], facts.encrypted?.[0]],
  ...(facts.calls ?? []).flatMap(({ id, item }) => [id, item]),
]

/** A body in which what was issued once is what this server issued. */
const withIssued = (body: Json, issued: ReadonlyMap<string, string>): Json =>
  JSON.parse(JSON.stringify(body), (_, value) => (typeof value === 'string' ? (issued.get(value) ?? value) : value))

const inBandError = /^event: error|^data: \{"error"/m

/** Sends the requests of a conversation in order; returns a line for each that was refused. */
async function refusals(app: ReturnType<typeof appWith>, { library, name, requests }: Conversation): Promise<string[]> {
  const lines: string[] = []
  const issued = new Map<string, string>()
  for (const [index, { path, headers, body, reply }] of requests.entries()) {
    const where = `${library}, ${name}, request ${index}`
    const fixture = await app.fetch('/_understudy/fixtures', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([fixtureOf(reply ?? {})]),
    })
    if (fixture.status !== 200) throw new Error(`${where}: ${fixture.text}`)
    const answer = await app.post(path, withIssued(body, issued), headers)
    if (answer.status !== 200 || inBandError.test(answer.text)) {
      lines.push(`${where}: ${answer.status} ${answer.text.slice(0, 400)}`)
      continue
    }
    if (!reply) continue
    const now = idsIn(factsOf(path, body, answer))
    for (const [place, id] of idsIn(reply).entries()) {
      const mine = now[place]
      if (id === undefined) continue
      if (mine === undefined) lines.push(`${where}: nothing was issued in place of ${id}`)
      else issued.set(id, mine)
    }
  }
  return lines
}

test('valid conversations: come from seven libraries, at least 15 from each', () => {
  expect(libraries.map(([library]) => library).sort()).toEqual(
    ['ai', 'anthropic', 'langgraph', 'llamaindex', 'mastra', 'openai', 'openai-agents'].sort(),
  )
  for (const [, conversations] of libraries) expect(conversations.length).toBeGreaterThanOrEqual(15)
  expect(libraries.flatMap(([, conversations]) => conversations).length).toBeGreaterThanOrEqual(200)
})

test.each(libraries)('valid conversations: every request of %s is answered', async (_, conversations) => {
  const app = appWith()
  const lines: string[] = []
  for (const conversation of conversations) lines.push(...(await refusals(app, conversation)))
  expect(lines).toEqual([])
})
