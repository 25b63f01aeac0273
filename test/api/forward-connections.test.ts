// A connection to a provider serves one forwarded call after the other, streams as well.
import { afterAll, expect, test } from 'bun:test'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readForwarding } from '../../src/config/providers.ts'
import { createTestApp } from '../support/app.ts'
import { HELLO } from '../support/forward.ts'

const event = (content: string, finish: string | null) =>
  `data: ${JSON.stringify({
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
    choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish }],
  })}\n\n`

/** Ends the answer that has sent its end mark; resolves when that has left. */
let end = () => Promise.resolve()
let connections = 0
const provider = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event('Hello', null))
    response.write(`${event('', 'stop')}data: [DONE]\n\n`)
    end = () => new Promise((resolve) => response.end(resolve))
  })
}).on('connection', () => connections++)
await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
const { port } = provider.address() as AddressInfo
const section = {
  value: { openai: { base_url: `http://127.0.0.1:${port}/v1`, api_key: 'sk-test', backend: 'forward' } },
  locationOf: () => '',
}
const app = createTestApp({
  clock: 'real',
  forwarding: readForwarding({ section, backend: 'fixture', environment: {} }),
})
afterAll(async () => {
  await app.close()
  provider.closeAllConnections()
  await new Promise((resolve) => provider.close(resolve))
})

test('forwarded stream: frees its connection when its last bytes come after the end mark', async () => {
  const calls = 8
  for (let call = 0; call < calls; call++) {
    const answer = await app.post('/v2/router/chat/completions', { ...HELLO, model: 'openai/gpt-4o', stream: true })
    expect(answer.text).toEndWith('data: [DONE]\n\n')
    await end()
    // Our side has its end a little later.
    await Bun.sleep(20)
  }
  // On a busy machine one may come too late; each call had its own before.
  expect(connections).toBeLessThan(calls / 2)
})
