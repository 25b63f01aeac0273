// A sequence of replies belongs to a conversation, whatever other calls are made, and survives the process.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { agentSession, story } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { serveHere } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'
import { type Server, startServer } from '../support/server.ts'
import type { Json } from '../support/workspace.ts'

const FIXTURES = {
  'fixtures/chat.completions/steps.yaml':
    'replies: [{ content: "1" }, { content: "2" }, { content: "3" }, { content: last }]',
  'fixtures/chat.completions/a-retry.yaml':
    'match: { user: { contains: flaky } }\nreplies: [{ error: { status: 429 } }, { error: { status: 503 } }, { content: fine }]',
  'fixtures/embeddings/retry.yaml': 'replies: [{ error: { status: 429 } }, { embedding: [1, 0] }]',
}
const folder = folderWith(FIXTURES)
const app = createTestApp({ fixtures: [`${folder.path}/fixtures`], on_unmatched: 'error' })
afterAll(() => {
  app.close()
  folder.remove()
})
let sessions = 0
/** Calls in a session of its own. */
const own = () => {
  const session = `sequences-${++sessions}`
  return (path: string, body: Json) => app.post(`/s/${session}${path}`, { model: 'openai/gpt-4o', ...body })
}
type Ask = ReturnType<typeof own>
const say = (role: string, content: string): Json => ({ role, content })
const chat = async (ask: Ask, messages: readonly Json[], more: Json = {}) => {
  const answer = (await ask('/v2/router/chat/completions', { messages, ...more })).json() as {
    choices?: { message: { content: string } }[]
    error?: { code: string }
  }
  return answer.choices?.[0]?.message.content ?? 'error'
}
/** A conversation that goes on with what was answered. */
function conversation(ask: Ask, first: string, more: Json = {}, system: () => string = () => 'Help.') {
  const history = [say('user', first)]
  return async (next?: string) => {
    if (next !== undefined) history.push(say('user', next))
    const answer = await chat(ask, [say('system', system()), ...history], more)
    history.push(say('assistant', answer))
    return answer
  }
}

describe('sequence of replies', () => {
  test('starts from the beginning in each of several parallel conversations', async () => {
    const ask = own()
    const talks = Array.from({ length: 5 }, (_, index) => conversation(ask, `I am number ${index}.`))
    for (const expected of ['1', '2', '3', 'last', 'last'])
      expect(await Promise.all(talks.map((go, index) => go(expected === '1' ? undefined : `${index}?`)))).toEqual(
        Array(5).fill(expected),
      )
  })

  test('continues where a later conversation is behind', async () => {
    const ask = own()
    const [early, late] = [conversation(ask, 'Early.'), conversation(ask, 'Late.')]
    expect([await early(), await early('?'), await late(), await early('?'), await late('?')]).toEqual([
      ...['1', '2', '1', '3', '2'],
    ])
  })

  test('continues over equal requests, as of a client that retries after an error', async () => {
    const ask = own()
    const flaky = (name: string) => chat(ask, [say('user', `flaky ${name}`)])
    const all = []
    for (const name of ['a', 'b', 'a', 'b', 'a', 'b', 'a']) all.push(await flaky(name))
    expect(all).toEqual(['error', 'error', 'error', 'error', 'fine', 'fine', 'fine'])
  })

  test('continues over the attempts of the gateway', async () => {
    const retry = { count: 2, on_codes: [429, 503] }
    expect(await chat(own(), [say('user', 'flaky')], { retry })).toBe('fine')
  })

  test('continues when the instructions contain a changing time of day', async () => {
    const ask = own()
    let minute = 0
    const go = conversation(ask, 'Hi.', {}, () => `Help. It is Monday, 3 March 2025, 10:${10 + minute++}.`)
    expect([await go(), await go('?'), await go('?')]).toEqual(['1', '2', '3'])
  })

  test('is distinguished by identity and thread when the messages are equal', async () => {
    const ask = own()
    const as = (more: Json) => chat(ask, [say('user', 'Hi.')], more)
    const ada = { identity: { id: 'ada' } }
    const bob = { identity: { id: 'bob' } }
    expect([await as(ada), await as(ada), await as(bob), await as(ada)]).toEqual(['1', '2', '1', '3'])
    const first = { thread: { id: 'first' } }
    expect([await as(first), await chat(ask, [say('user', 'Something else.')], first)]).toEqual(['1', '2'])
  })

  test('belongs to a chain of responses', async () => {
    const ask = own()
    const respond = async (input: string, previous?: string) => {
      const answer = await ask('/v2/router/responses', { input, ...(previous && { previous_response_id: previous }) })
      const { id, output_text } = answer.json() as { id: string; output_text: string }
      return { id, text: output_text }
    }
    const [a, b] = [await respond('A'), await respond('B')]
    const [a2, b2] = [await respond('yes', a.id), await respond('yes', b.id)]
    const a3 = await respond('go on', a2.id)
    expect([a, b, a2, b2, a3].map(({ text }) => text)).toEqual(['1', '1', '2', '2', '3'])
  })

  test('belongs to the request when there is no conversation', async () => {
    const ask = own()
    const embed = async (input: string) => (await ask('/v2/router/embeddings', { input })).status
    expect([await embed('x'), await embed('y'), await embed('x'), await embed('y')]).toEqual([429, 429, 200, 200])
  })

  test('belongs to the task of an agent, that of a tool too', async () => {
    const session = agentSession(app)
    const tool = { operation: 'agents.tools', tool: 'google_search' }
    const search = { name: 'google_search', arguments: { query: 'x' } }
    await session.begin(
      [[search], [search], 'Done.'],
      [{ match: tool, replies: [{ result: 'first' }, { result: 'second' }] }],
    )
    await session.agent({ settings: { tools: [{ type: 'google_search' }] } })
    const tasks = await Promise.all(['Go.', 'Go.', 'Go.'].map((text) => session.ask(text)))
    for (const task of tasks)
      expect(story(task).filter((line) => !line.startsWith('agent: google'))).toEqual([
        ...['user: Go.', 'tool: "first"', 'tool: "second"', 'agent: Done.'],
      ])
  })
})

/** Between two looks at a server. */
const POLL_MS = 10

describe('killed process with sequences', () => {
  const running: Server[] = []
  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop('SIGKILL')
  })
  const started = async (server: Promise<Server>) => {
    running.push(await server)
    return server
  }
  const start = (cwd: string, ...args: string[]) => started(startServer(['--seed-file', 'none', ...args], { cwd }))
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
  const post = async ({ url }: Server, path: string, body: object) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.json() as Promise<Json>
  }
  const said = async (server: Server, prefix: string, user: string) => {
    const body = { model: 'openai/gpt-4o', messages: [say('user', user)] }
    const { choices } = (await post(server, `${prefix}/v2/router/chat/completions`, body)) as {
      choices?: { message: { content: string } }[]
    }
    return choices?.[0]?.message.content
  }

  test('continues them after its last responses, in named sessions too', async () => {
    const at = (name: string) => `${folder.path}/${name}`
    const args = ['--fixtures', at('fixtures'), '--db', at('sequences.db'), '--sessions-dir', at('sessions')]
    const first = await start(folder.path, ...args)
    for (const prefix of ['', '/s/one']) {
      expect([
        await said(first, prefix, 'Hi'),
        await said(first, prefix, 'Hi'),
        await said(first, prefix, 'Ho'),
      ]).toEqual([...['1', '2', '1']])
    }
    await first.stop('SIGKILL')
    // What the killed process has left is opened here.
    const second = await started(serveHere(['--seed-file', 'none', ...args], {}))
    for (const prefix of ['', '/s/one'])
      expect([await said(second, prefix, 'Hi'), await said(second, prefix, 'Ho')]).toEqual(['3', '2'])
    await post(second, '/_understudy/reset', {})
    expect(await said(second, '', 'Hi')).toBe('1')
  })

  test('does not repeat a finished tool call while the task waited for a slower one', async () => {
    const search = (query: string) => ({ name: 'google_search', arguments: { query } })
    const folderOf = (wait: string) =>
      folderWith({
        'fixtures/agents.tools/search.json': JSON.stringify([
          { match: { arguments: { query: 'slow' } }, reply: { result: 'slow', timing: { duration: wait } } },
          {
            match: { arguments: { query: 'quick' } },
            replies: [{ result: 'called once' }, { result: 'called twice' }],
          },
        ]),
        'fixtures/chat.completions/search.json': JSON.stringify({
          replies: [{ tool_calls: [search('slow'), search('quick')] }, { content: 'Done.' }],
        }),
      })
    const [slow, quick] = [folderOf('100s'), folderOf('1ms')]
    // The same path of both folders: these are the same fixtures.
    const args = ['--fixtures', 'fixtures', '--db', `${slow.path}/tools.db`]
    const first = await start(slow.path, ...args)
    const agent = {
      key: 'helper',
      role: 'r',
      description: 'd',
      instructions: 'i',
      path: 'Default',
      model: 'openai/gpt-4o',
    }
    await post(first, '/v2/agents', { ...agent, settings: { tools: [{ type: 'google_search' }] } })
    const message = { role: 'user', parts: [{ kind: 'text', text: 'Search.' }] }
    const { id } = await post(first, '/v2/agents/helper/task', { message })
    const read = async ({ url }: Server) =>
      (await (await fetch(`${url}/v2/agents/helper/tasks/${id}`, { headers })).json()) as Parameters<typeof story>[0]
    // The result of the quick one is stored as soon as it is there; nothing shows it yet.
    while (true) {
      const snapshot = await (await fetch(`${first.url}/_understudy/snapshot`, { headers })).text()
      if (snapshot.includes('called once')) break
      // One look after the other would take the processor from it.
      await Bun.sleep(POLL_MS)
    }
    await first.stop('SIGKILL')
    const second = await start(quick.path, ...args)
    let task = await read(second)
    while (task.status.state === 'working') {
      await Bun.sleep(POLL_MS)
      task = await read(second)
    }
    expect(story(task).slice(2)).toEqual(['tool: "slow"', 'tool: "called once"', 'agent: Done.'])
    slow.remove()
    quick.remove()
  })
})
