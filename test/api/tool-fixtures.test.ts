// Fixtures for the tools of agents are files like the others: read strictly, watched, listed, given to one session, shipped.
import { afterEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { fixedFixtures, fixturesInForce } from '../../src/backends/fixture/in-force.ts'
import { loadFixtures, readPath } from '../../src/backends/fixture/load.ts'
import { requestFixtures } from '../../src/backends/fixture/read-fixture.ts'
import { toolAnswers } from '../../src/backends/fixture/tool-answers.ts'
import { fixtureSubjects } from '../../src/endpoints/index.ts'
import { virtualClock } from '../../src/lib/virtual-clock.ts'
import { createTestApp } from '../support/app.ts'
import { folderWith } from '../support/fixtures.ts'
import type { Json } from '../support/workspace.ts'

const open: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

const FIXTURES = [
  { match: { tool: 'slow' }, reply: { result: 'late', timing: { duration: '2s' } } },
  { match: { tool: 'counting' }, replies: [{ result: 1 }, { error: 'no more of {{call.tool}}' }] },
  { match: { tool: 'search', agent: 'helper-*' }, reply: { result: ['by {{call.agent}}'] } },
  { match: { tool: 'search', iteration: { min: 3 } }, reply: { result: 'again' } },
  { match: { tool: 'search', arguments: { 'order.number': 7 } }, reply: { result: { number: 7 } } },
  {
    match: { tool: 'search', arguments: { q: { regex: '^the (?<what>\\w+)$', ignore_case: true } } },
    reply: { result: { about: '{{captures.what}}', whole: '{{call.arguments.q}}' } },
  },
  { match: { tool: 'search', arguments: { tags: ['a', 'b'] } }, reply: { result: null } },
]
const all = requestFixtures(
  FIXTURES.map(({ match, ...rest }) => ({ match: { operation: 'agents.tools', ...match }, ...rest })),
  fixtureSubjects,
)

/** Asks for the answer to a call; `waited` is how long it took on the clock. */
function asking(onUnmatched: 'generate' | 'error' = 'generate') {
  const answers = toolAnswers(fixturesInForce({ files: fixedFixtures(all), shipped: [] }), onUnmatched)
  const used = new Map<string, number>()
  const next = (place: string) => {
    const before = used.get(place) ?? 0
    used.set(place, before + 1)
    return before
  }
  return async (names: string[], given: Json = {}, { agent = 'one', iteration = 1 } = {}) => {
    const clock = virtualClock()
    const begun = clock.now()
    const { signal } = new AbortController()
    const answer = await answers.answer({
      session: 'default',
      names,
      agent,
      iteration,
      arguments: given,
      clock,
      signal,
      sequences: { next },
      conversation: () => 'task',
    })
    const { fixture, ...said } = answer ?? { fixture: null }
    return { said, fixture, waited: clock.now() - begun }
  }
}

describe('tool fixture match', () => {
  const ROWS: [string, Parameters<ReturnType<typeof asking>>, unknown][] = [
    ['no conditions', [['other']], {}],
    ['the agent', [['search'], {}, { agent: 'helper-2' }], { result: ['by helper-2'] }],
    ['the iteration', [['search'], {}, { iteration: 3 }], { result: 'again' }],
    ['a value at a path', [['search'], { order: { number: 7 } }], { result: { number: 7 } }],
    ['another value at a path, without a match', [['search'], { order: { number: '7' } }], {}],
    ['a text condition', [['search'], { q: 'The lamp' }], { result: { about: 'lamp', whole: 'The lamp' } }],
    ['a text condition on another type, without a match', [['search'], { q: 7 }], {}],
    ['a list', [['search'], { tags: ['a', 'b'] }], { result: null }],
    ['any name of the tool', [['offered', 'search'], { tags: ['a', 'b'] }], { result: null }],
  ]
  test.each(ROWS)('selects by %s', async (_, call, said) => {
    expect((await asking()(...call)).said).toEqual(said as object)
  })

  test('returns replies one after the other, errors included, and repeats the last one', async () => {
    const ask = asking()
    const said = [await ask(['counting']), await ask(['counting']), await ask(['counting'])].map((one) => one.said)
    expect(said).toEqual([{ result: 1 }, { error: 'no more of counting' }, { error: 'no more of counting' }])
  })

  test("waits its duration on the session's clock", async () => {
    expect(await asking()(['slow'])).toMatchObject({ said: { result: 'late' }, waited: 2_000, fixture: 'fixtures[0]' })
  })

  test('names the nearest fixtures when one is required and missing', async () => {
    const miss = asking('error')(['search'], { q: 'lamp' })
    await expect(miss).rejects.toThrow(
      'no fixture matches this call of the tool "search"; nearest: fixtures[2] (agent: expected "helper-*", got "one")',
    )
  })
})

const WRONG: [string, Json, string][] = [
  [
    'keys of call fixtures',
    { match: { user: 'hi' }, reply: { result: 1 } },
    'match.user is not known; valid: operation, tool',
  ],
  ['an unknown key of a reply', { reply: { content: 'x' } }, 'reply.result is required'],
  [
    'a result and an error together',
    { reply: { result: 1, error: 'x' } },
    'reply.result is not known; valid: error, timing',
  ],
  [
    'an invalid pattern',
    { match: { arguments: { q: { regex: '(' } } }, reply: { result: 1 } },
    'must be a regular expression',
  ],
  ['an invalid template', { reply: { result: '{{prompt.user}}' } }, 'has {{prompt.user}}, which is not defined'],
  ['an invalid capture', { reply: { error: '{{captures.city}}' } }, 'has {{captures.city}}, which is not defined'],
  ['an invalid duration', { reply: { result: 1, timing: { duration: 'long' } } }, 'must be a duration such as'],
]
test.each(WRONG)('tool fixture: rejects %s at its place', (_, fixture, words) => {
  const folder = folderWith({ 'agents.tools/wrong.yaml': fixture })
  open.push(folder.remove)
  const read = () => loadFixtures(readPath(folder.path), fixtureSubjects)
  expect(read).toThrow(words)
  expect(read).toThrow('agents.tools/wrong.yaml:')
})

test('tool fixture: is reported when it can never answer', () => {
  const folder = folderWith({
    'agents.tools/a.yaml': [
      { match: { tool: 'a', agent: 'x*', arguments: { q: 1 } }, reply: { result: 1 } },
      { match: { tool: 'a', agent: 'xy', arguments: { q: 1, more: 2 } }, reply: { result: 2 } },
      { match: { tool: 'b', agent: 'xy' }, reply: { result: 3 } },
    ],
  })
  open.push(folder.remove)
  const { warnings } = loadFixtures(readPath(folder.path), fixtureSubjects)
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('agents.tools/a[1] can never match')
})

describe('tool fixtures of a running server', () => {
  const listed = async (app: ReturnType<typeof createTestApp>, session = 'default') => {
    const answer = await app.fetch('/_understudy/fixtures', { headers: { 'x-understudy-session': session } })
    const { data } = answer.json() as { data: { operation: string; from: string; name: string }[] }
    return data.filter(({ operation }) => operation === 'agents.tools').map(({ from, name }) => `${from} ${name}`)
  }

  test('are listed: those of files, shipped ones and those of one session', async () => {
    const folder = folderWith({ 'agents.tools/a.yaml': { match: { tool: 'a' }, reply: { result: 1 } } })
    const app = createTestApp({ fixtures: [folder.path], shipped_fixtures: true })
    open.push(app.close, folder.remove)
    const shipped = ['shipped weather/nowhere', 'shipped weather/found']
    expect(await listed(app)).toEqual(['files agents.tools/a', ...shipped])
    writeFileSync(`${folder.path}/agents.tools/b.yaml`, 'match: { tool: b }\nreply: { error: no }\n')
    expect(await listed(app)).toEqual(['files agents.tools/a', 'files agents.tools/b', ...shipped])
    const put = await app.fetch('/_understudy/fixtures', {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'x-understudy-session': 'mine' },
      body: JSON.stringify({ name: 'own', match: { operation: 'agents.tools', tool: 'c' }, reply: { result: 1 } }),
    })
    expect(put.status).toBe(200)
    expect((await listed(app, 'mine'))[0]).toBe('session own')
    expect(await listed(app)).toHaveLength(4)
  })

  test('are rejected with 400 at their place when invalid', async () => {
    const app = createTestApp({ shipped_fixtures: true })
    open.push(app.close)
    const put = await app.fetch('/_understudy/fixtures', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ match: { operation: 'agents.tools', tol: 'c' }, reply: { result: 1 } }]),
    })
    expect([put.status, (put.json().error as Json).param]).toEqual([400, 'fixtures[0].match.tol'])
  })
})
