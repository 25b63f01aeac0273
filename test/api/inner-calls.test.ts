// An inner call, as evaluators make them, is a call: it is retried, falls back, is subject to faults, and has a trace of its own.
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import type { Answer } from '../support/app.ts'
import { CHAT } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { A, B, closeScripted, createScripted, hangs, type Script, type ScriptedApp, says } from '../support/scripted.ts'

let app: ScriptedApp
const start = async (script: Script) => {
  app = createScripted(script)
  const made = await app.post('/v2/evaluators', {
    type: 'llm_eval',
    key: 'gentle',
    model: B,
    prompt: 'Is this polite? {{log.output}}',
    output_type: 'boolean',
    guardrail_config: { enabled: true, type: 'boolean', value: true },
  })
  expect(made.status).toBe(200)
}
beforeEach(() => start({ [A]: [says('You are welcome.')], [B]: [says('true')] }))
afterEach(closeScripted)

const guarded = { guardrails: [{ id: 'gentle', execute_on: 'output' }] }
const ask = (more: object = {}, headers = {}): Promise<Answer> =>
  app.post(CHAT, { model: A, messages: [{ role: 'user', content: 'Hello!' }], ...guarded, ...more }, headers)
const traces = async () => (await app.fetch('/_understudy/traces')).json().data as Record<string, unknown>[]
const play = (...rules: object[]) =>
  app.fetch('/_understudy/scenario', {
    method: 'PUT',
    body: JSON.stringify({
      name: 'bad-day',
      rules: rules.map((rule, index) => ({ name: `rule ${index + 1}`, ...rule })),
    }),
    headers: { 'content-type': 'application/json' },
  })

test('inner call: has a trace that names its parent and is named by it', async () => {
  const answer = await ask()
  const parent = await app.traceOf(answer)
  const [own, inner] = (await traces()).sort((one, other) => Number(one.internal) - Number(other.internal))
  expect(own).toMatchObject({ id: parent.id, parent: null, internal: false, model: A })
  expect(inner).toMatchObject({
    parent: parent.id,
    internal: true,
    model: B,
    operation: 'chat.completions',
    outcome: 'succeeded',
  })
  expect(parent.guardrails).toMatchObject([{ id: 'gentle', outcome: 'passed', evaluation: { traces: [inner?.id] } }])
})

test('inner call: is subject to provider faults only', async () => {
  await play(
    { match: { model: B }, fault: { type: 'http-error', status: 503 } },
    { at: 'gateway', match: { model: B }, fault: { type: 'http-error', status: 500 } },
  )
  const answer = await ask()
  expect(errorOf(answer.text, 503).message).toContain('the evaluator "gentle" failed')
  expect(await traces()).toMatchObject(
    [
      { internal: false, outcome: 'http_error', status: 503 },
      { internal: true, outcome: 'http_error', attempts: [{ faults: ['rule 1'] }], faults: [] },
    ].toSorted((one) => (one.internal ? -1 : 1)),
  )
})

test.each([
  [true, 503],
  [false, 200],
])('inner call: is distinguished from client calls by a rule with inner %p', async (inner, status) => {
  await play({ match: { model: B, internal: inner }, fault: { type: 'http-error', status: 503 } })
  expect((await ask()).status).toBe(status)
  expect((await ask({ model: B, guardrails: [] })).status).toBe(inner ? 200 : 503)
})

test('inner call: is canceled when the client disconnects', async () => {
  await start({ [A]: [says('You are welcome.')], [B]: [hangs] })
  const client = new AbortController()
  const { clock } = app.understudy.sessions.get('default')
  const leaving = clock.sleep(300).then(() => client.abort())
  const answer = app.fetch(CHAT, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: A, messages: [{ role: 'user', content: 'Hello!' }], ...guarded }),
    signal: client.signal,
  })
  await Promise.all([leaving, answer])
  expect(app.reached.find(({ model }) => model === B)?.signal.aborted).toBe(true)
  expect((await traces()).map(({ outcome, duration_ms }) => [outcome, duration_ms])).toEqual([
    ['canceled', 300],
    ['canceled', 300],
  ])
})

test('inner call: has no parent when an evaluator is run by hand', async () => {
  const run = await app.post('/_understudy/evaluators/gentle/run', { text: 'Thank you.' })
  expect(run.json()).toMatchObject({ passed: true, value: true, traces: [expect.any(String)] })
  expect(await traces()).toMatchObject([{ id: (run.json().traces as string[])[0], parent: null, internal: true }])
})

describe('inner call in the report', () => {
  test('counts as an attempt at a provider and not as a client call', async () => {
    await ask()
    const report = (await app.fetch('/_understudy/verify')).json() as unknown as Verification
    expect(report).toMatchObject({ calls: 1, attempts: 2 })
    expect(report.counts.filter(({ at }) => at === 'gateway')).toMatchObject([{ model: A, count: 1 }])
  })
})
