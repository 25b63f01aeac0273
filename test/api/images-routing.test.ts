// Image calls that are balanced, fall back or are answered from the cache.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestApp, type TestApp } from '../support/app.ts'
import { A, B, browse, C, draw, IMAGES } from '../support/images.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
let app: TestApp
beforeAll(() => {
  const path = join(folder.path, 'slow.yaml')
  const fixture = ['match: { operation: images.generations, user: slowly, model: openai/dall-e-2 }', 'reply:']
  writeFileSync(path, [...fixture, '  timing: { first_token: 60s }'].join('\n'))
  app = createTestApp({ fixtures: [path] })
})
afterAll(() => {
  app.close()
  folder.remove()
})
const slow = { model: A, prompt: 'slowly', timeout: { call_timeout: 1_000 } }

test('image fallback: answers in its own form when a model exceeds the timeout', async () => {
  const { answer, data, usage } = await draw(app, { ...slow, fallbacks: [{ model: C }], size: '1024x1024' })
  expect(Object.keys(data[0] ?? {})).toEqual(['b64_json'])
  expect(usage?.output_tokens).toBe(4160)
  expect(answer.headers.get('x-understudy-model')).toBe(C)
  expect(await app.traceOf(answer)).toMatchObject({
    model: C,
    plan: [A, C],
    attempts: [{ outcome: 'timed_out' }, { outcome: 'succeeded' }],
  })
})

test('image fallback: returns 400 with the reason when it does not accept the request', async () => {
  const answer = await app.post(IMAGES, { ...slow, fallbacks: [{ model: B }], n: 2 })
  expect([answer.status, answer.json().error]).toMatchObject([
    400,
    { param: 'n', message: `'n' must be at most 1 for ${B}, got 2` },
  ])
})

test('image balancer: applies the rules of the picked model, not those of the ignored one', async () => {
  const balanced = (model: string) => ({ model: A, load_balancer: { type: 'weight_based', models: [{ model }] } })
  const { data } = await draw(app, { ...balanced(B), style: 'natural', size: '1792x1024' })
  expect(data[0]?.revised_prompt).toStartWith('A natural')
  const answer = await app.post(IMAGES, { prompt: 'a red fox', ...balanced(C), size: '256x256' })
  expect([answer.status, answer.json().error]).toMatchObject([400, { param: 'size' }])
})

test('image cache: returns the same response, whose URL still works', async () => {
  const body = {
    model: A,
    prompt: 'a cached fox',
    size: '256x256',
    svc: { cache: { type: 'exact_match', ttl: 7_200 } },
  }
  const first = await draw(app, body)
  await app.understudy.sessions.get('default').clock.sleep(7_199_000)
  const second = await draw(app, body)
  expect(second.answer.headers.get('x-understudy-cache')).toBe('hit')
  expect(second.answer.json()).toEqual(first.answer.json())
  expect((await browse(app, second.data[0]?.url)).status).toBe(200)
  expect(await app.traceOf(second.answer)).toMatchObject({ usage: { images: 1 }, cost: 0, attempts: [] })
  const counted = { model: C, prompt: 'a cached fox', cache: { type: 'exact_match' } }
  expect((await draw(app, counted)).usage).toEqual((await draw(app, counted)).usage)
})
