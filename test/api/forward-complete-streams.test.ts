// A forwarded stream that arrives in one piece is answered and recorded like one that arrives byte by byte, whatever is in it.
import { afterAll, expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import { createTestApp } from '../support/app.ts'
import { at, HELLO, startProvider } from '../support/forward.ts'

const chunk = (delta: object, finish: string | null = null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
const role = event(chunk({ role: 'assistant', content: '' }))
const words = role + ['Good', ' mörning', ' to', ' you'].map((content) => event(chunk({ content }))).join('')
const counts = event({ ...chunk({}), choices: [], usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 } })
const finish = event(chunk({}, 'stop'))
const done = 'data: [DONE]\n\n'

const STREAMS: readonly [string, string][] = [
  ['that is complete', words + finish + counts + done],
  ['without a finish reason', words + done],
  ['without an end mark', words + finish],
  ['with comments and names', `: hello\n\nevent: chunk\n${words}id: 7\n${finish}: bye\n\n${done}`],
  ['with something after its end mark', words + finish + done + words],
  ['with invalid JSON in the middle', `${words}data: {"no\n\n${words}${finish}${done}`],
  ['with an error in the middle', words + event({ error: { message: 'busy', code: 503 } }) + finish + done],
  ['with an error in place of content', role + event({ error: { message: 'busy', code: 503 } }) + done],
  ['with an invalid event after its finish reason', `${words}${finish}data: [1]\n\n${done}`],
  ['of only an end mark', done],
]

/** How the provider sends it. */
let send: (text: string) => Iterable<Uint8Array>
let text = ''
const provider = startProvider(() => {
  async function* body() {
    yield* send(text)
  }
  return new Response(body() as unknown as BodyInit, { headers: { 'content-type': 'text/event-stream' } })
})
const section = { value: { openai: at(provider.url) }, locationOf: () => '' }
const app = createTestApp({
  clock: 'real',
  forwarding: readForwarding({ section, backend: 'fixture', environment: {} }),
})
afterAll(async () => {
  await app.close()
  await provider.stop()
})

/** What is known of a call afterwards, but for ids and times. */
async function outcome() {
  const answer = await app.post('/v2/router/chat/completions', { ...HELLO, model: 'openai/gpt-4o', stream: true })
  const { id, attempts, outcome, status, error, usage } = await app.traceOf(answer)
  const exchange = (await app.fetch(`/_understudy/traces/${id}/exchange`)).json() as unknown as Exchange
  const tried = attempts.map(({ outcome, status, error }) => ({ outcome, status, error }))
  const sent = exchange.response?.body?.map(({ text }) => text)
  return { code: answer.status, text: answer.text.replaceAll(id, 'ID'), outcome, status, error, usage, tried, sent }
}

test.each(STREAMS)('forwarded stream %s: has the same outcome in one piece and in small pieces', async (_, stream) => {
  text = stream
  const bytes = new TextEncoder().encode(stream)
  send = () => [bytes]
  const atOnce = await outcome()
  send = function* () {
    for (let at = 0; at < bytes.length; at += 11) yield bytes.subarray(at, at + 11)
  }
  const inPieces = await outcome()
  expect(atOnce).toEqual(inPieces)
})
