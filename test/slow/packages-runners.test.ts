// @understudy/test in each test runner, whose start takes the time here: a session for each test, calls drawn after a failing one, nothing after a passing one.
import { beforeAll, describe, expect, test } from 'bun:test'
import { makeProject } from '../support/packages.ts'

/** What each runner runs: its own header before it. */
const SUITE = `
const ask = async ({ baseURL, apiKey }, model = 'openai/gpt-4o') => {
  const headers = { authorization: 'Bearer ' + apiKey, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'Hello!' }]
  return fetch(baseURL + '/chat/completions', { method: 'POST', headers, body: JSON.stringify({ model, messages }) })
}
test('passes', async ({ understudy }) => {
  await understudy.fixtures({ match: { operation: 'chat.completions' }, reply: { content: 'Only here.' } })
  const answer = await (await ask(understudy)).json()
  if (answer.choices[0].message.content !== 'Only here.') throw new Error('the fixture did not answer')
  const traces = await understudy.traces()
  if (traces.length !== 1) throw new Error('there are ' + traces.length + ' traces')
  await understudy.verify({ expect: [{ provider: 'openai', attempts: 1 }] })
})
test('fails', async ({ understudy }) => {
  await understudy.scenario({ name: 'down', rules: [{ name: 'unavailable', fault: { type: 'http-error', status: 503 } }] })
  const { status } = await ask(understudy)
  const { message } = await understudy.scenario('overlaoded').catch((error) => error)
  throw new Error('as planned, after ' + status + ': ' + message)
})
`
// Playwright starts another process after each failed test, which takes most of the time here.
const NEVER_ENDS = `
test('never ends, calls nobody', async ({ understudy }) => {
  await new Promise((resolve) => setTimeout(resolve, 2_000))
}, 1_000)
`
interface Runner {
  file: string
  header: string
  command: string[]
  links: string[]
  /** More tests. */
  more: string
}

const RUNNERS: Record<string, Runner> = {
  vitest: {
    file: 'some.test.mjs',
    header: "import { test } from '@understudy/test/vitest'",
    command: ['node', 'node_modules/vitest/vitest.mjs', 'run', '--testTimeout=30000'],
    links: ['vitest', 'vite'],
    more: NEVER_ENDS,
  },
  jest: {
    file: 'some.test.js',
    header: "const { test } = require('@understudy/test/jest')",
    // Without Babel, which takes a third of the time and would change nothing here.
    command: ['node', 'node_modules/jest/bin/jest.js', '--runInBand', '--testTimeout=30000', '--transform={}'],
    links: ['jest', '@jest/globals'],
    more: NEVER_ENDS,
  },
  'bun test': {
    file: 'some.test.js',
    header: "import { test } from '@understudy/test/bun'",
    command: [process.execPath, 'test', '--timeout', '30000'],
    links: [],
    more: NEVER_ENDS,
  },
  'node:test': {
    file: 'some.test.mjs',
    header: "import { test } from '@understudy/test/node'",
    command: ['node', '--test', '--test-reporter=spec'],
    links: [],
    more: NEVER_ENDS.replace("nobody', ", "nobody', { timeout: 1000 }, ").replace('}, 1_000)', '})'),
  },
  Playwright: {
    file: 'some.test.mjs',
    header: "import { test } from '@understudy/test/playwright'",
    command: ['node', 'node_modules/@playwright/test/cli.js', 'test', '--reporter=line'],
    links: ['@playwright/test', 'playwright', 'playwright-core'],
    more: NEVER_ENDS.replace('=> {', '=> {\n  test.setTimeout(1_000)').replace('}, 1_000)', '})'),
  },
}

const ended = new Map<string, { code: number; said: string }>()
// Together, since they wait more than they work.
beforeAll(async () => {
  const runs = Object.entries(RUNNERS).map(async ([name, { file, header, command, links, more }]) => {
    const project = await makeProject({ [file]: `${header}\n${SUITE}${more}` }, links)
    ended.set(name, await project.run(command))
  })
  await Promise.all(runs)
}, 60_000)

const endOf = (name: string) => ended.get(name) ?? { code: 0, said: '' }

describe.each(Object.keys(RUNNERS))('test runner %s', (name) => {
  test('draws the calls of failed tests and of no others', () => {
    const { code, said } = endOf(name)
    expect(code).not.toBe(0)
    expect(said).toContain('as planned, after 503')
    expect(said).toMatch(/understudy: ".*fails" failed; its calls:/)
    expect(said).toMatch(/openai\/gpt-4o first .*HTTP error 503/)
    expect(said).not.toMatch(/understudy: ".*passes" failed/)
  })
  test("reports the server's error for an unknown scenario", () => {
    const { said } = endOf(name)
    expect(said).toMatch(/as planned, after 503: .*"overlaoded"/)
    expect(said).toMatch(/known|valid|did you mean/i)
  })
  test('reports a test that timed out, which has made no call', () => {
    const { said } = endOf(name)
    expect(said).toMatch(/never ends, calls nobody" failed; its session \S*calls-nobody-[0-9a-f]{8} received no calls:/)
  })
})
