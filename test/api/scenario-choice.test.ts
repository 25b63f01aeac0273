// Which scenario is active: selected at the start, for a session or for one call; reloaded when its file changes.
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileError } from '../../src/schema/source.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const file = join(folder.path, 'mine.yaml')
const text = (rule: string, wait: string, more = '') => `
name: mine
${more}
rules:
  - name: ${rule}
    fault: { type: delay, for: ${wait} }
`
let told: unknown[] = []
let app: TestApp
const start = (...scenario: string[]) => {
  app = createTestApp({ scenario }, (error) => told.push(error))
}
beforeEach(() => {
  told = []
  writeFileSync(file, text('first', '1s'))
})
afterEach(() => app.close())

const call = (headers: Record<string, string> = {}, target = '') =>
  app.post(`${target}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello') }, headers)
const applied = async (headers: Record<string, string> = {}) => (await call(headers)).headers.get('x-understudy-faults')
const scenario = async () => (await app.fetch('/_understudy/scenario')).json()
const put = (body: object) =>
  app.fetch('/_understudy/scenario', {
    method: 'PUT',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

describe('scenario file', () => {
  test('is active in every session from the start and reloaded when it changes', async () => {
    start(file)
    expect(await applied()).toBe('first')
    expect((await call({}, '/s/other')).headers.get('x-understudy-faults')).toBe('first')
    expect(await scenario()).toMatchObject({ scenario: 'mine', from: file, problem: null, rules: [{ triggered: 1 }] })
    writeFileSync(file, text('second rule', '2s'))
    expect(await applied()).toBe('second rule')
    const { rules } = (await scenario()) as { rules: { name: string; triggered: number }[] }
    expect(rules.map(({ name, triggered }) => [name, triggered])).toEqual([['second rule', 1]])
    expect(told).toEqual([])
  })

  test('leaves the old one active and reports once when it is invalid or gone', async () => {
    start(file)
    await applied()
    writeFileSync(file, `${text('third', '1s')}\n    what: 1\n`)
    expect(await applied()).toBe('first')
    expect(await applied()).toBe('first')
    const place = `${file}:8:5: rules[0].what is not known`
    expect(await scenario()).toMatchObject({ scenario: 'mine', problem: expect.stringContaining(place) })
    expect(told).toHaveLength(1)
    expect(told[0]).toBeInstanceOf(FileError)
    expect(String(told[0])).toContain(place)
    expect(String(told[0])).toContain('keeping the previous scenario')
    rmSync(file)
    expect(await applied()).toBe('first')
    expect(told).toHaveLength(2)
    writeFileSync(file, text('mended', '1s'))
    expect(await applied()).toBe('mended')
    expect(await scenario()).toMatchObject({ problem: null })
  })

  test('gives the session its new clock when it changes', async () => {
    writeFileSync(file, text('first', '0ms', 'clock: real'))
    start(file)
    const kind = async () => ((await app.fetch('/_understudy/sessions/default')).json().clock as { kind: string }).kind
    expect(await kind()).toBe('real')
    writeFileSync(file, text('first', '10m', 'clock: virtual'))
    expect((await app.traceOf(await call())).duration_ms).toBe(600_000)
    expect(await kind()).toBe('virtual')
  })

  test('is known by its name beside the first one', async () => {
    const second = join(folder.path, 'second.yaml')
    writeFileSync(second, text('of the second', '1s').replace('mine', 'other'))
    start(file, second, 'stream-cut')
    expect(await applied()).toBe('first')
    expect(await applied({ 'x-understudy-scenario': 'other' })).toBe('of the second')
    writeFileSync(second, text('edited', '1s').replace('mine', 'other'))
    expect(await applied({ 'x-understudy-scenario': 'other' })).toBe('edited')
    await put({ name: 'other' })
    expect(await applied()).toBe('edited')
  })

  test('is rejected with the name of another', () => {
    const copy = join(folder.path, 'copy.yaml')
    writeFileSync(copy, text('copy', '1s'))
    expect(() => createTestApp({ scenario: [file, copy] })).toThrow(
      `${copy}: the scenario name "mine" is already used in ${file}`,
    )
  })
})

describe('scenario of one call', () => {
  test('is selected by header, counts from call to call and leaves others alone', async () => {
    start()
    await put({ name: 'calm', rules: [{ name: 'calm waits', fault: { type: 'delay', for: '1s' } }] })
    const stream = (headers: Record<string, string>) =>
      app.post(CHAT, { model: 'openai/gpt-4o', stream: true, ...user('Hello') }, headers)
    const cut = await stream({ 'x-understudy-scenario': 'stream-cut' })
    expect(cut.headers.get('x-understudy-scenario')).toBe('stream-cut')
    // The headers had left when the stream was cut.
    expect(cut.headers.get('x-understudy-faults')).toBe('')
    expect((await app.traceOf(cut)).attempts[0]?.faults).toEqual(['the stream is cut'])
    expect(cut.text).not.toContain('[DONE]')
    expect((await app.traceOf(cut)).scenario).toBe('stream-cut')
    const calm = await stream({})
    expect(calm.headers.get('x-understudy-scenario')).toBe('calm')
    expect(calm.text).toContain('[DONE]')
    const { rules } = (await app.fetch('/_understudy/verify')).json() as { rules: object[] }
    expect(rules).toMatchObject([
      { scenario: 'calm', name: 'calm waits', triggered: 1, not_triggered: null },
      { scenario: 'stream-cut', name: 'the stream is cut', triggered: 1, not_triggered: null },
    ])
  })

  test('is rejected with all names and traced when it is unknown', async () => {
    start(file)
    const answer = await call({ 'x-understudy-scenario': 'nope' })
    expect(errorOf(answer.text, 400)).toMatchObject({
      code: 'unknown_scenario',
      message: expect.stringMatching(/there is no scenario "nope"; known: mine, .*stream-cut/),
    })
    expect((await app.traceOf(answer)).status).toBe(400)
  })
})

test('stopped scenario: injects no more faults', async () => {
  start(file)
  await app.fetch('/_understudy/scenario', { method: 'DELETE' })
  expect(await applied()).toBe('')
  expect(await scenario()).toMatchObject({ scenario: null, from: null, rules: [] })
})

test('rule that can never be triggered: is reported', async () => {
  start()
  const body = { name: 'idle', rules: [{ name: 'r', when: { probability: 0 }, fault: { type: 'delay', for: 1 } }] }
  expect((await put(body)).json().warnings).toEqual([
    'the request: rules[0] "r" can never be triggered: its probability is 0',
  ])
  const unknown = { ...body, rules: [{ ...body.rules[0], when: {}, match: { operation: 'chat.completion' } }] }
  expect(String((await put(unknown)).json().warnings)).toStartWith(
    'the request: rules[0] "r" can never be triggered: unknown operation "chat.completion"; valid: chat.completions, ',
  )
})
