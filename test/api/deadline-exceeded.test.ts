// Waits that were skipped for a client are judged by the timeout that it declares.
import { expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp } from '../support/app.ts'

const DOWN = {
  name: 'down',
  rules: [{ name: 'down', when: { calls: '1-3' }, fault: { type: 'http-error', status: 429 } }],
}
const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }], retry: { count: 3 } }

const rows: [string, Record<string, string>, object, string[]][] = [
  ['no timeout', {}, {}, []],
  ['5 s', { 'x-stainless-timeout': '5' }, {}, ['deadline-exceeded']],
  ['5 s, as Python does', { 'x-stainless-read-timeout': '5.0' }, { stream: true }, ['deadline-exceeded']],
  ['5 s, as gRPC does', { 'grpc-timeout': '5S' }, {}, ['deadline-exceeded']],
  ['60 s', { 'x-stainless-timeout': '60' }, {}, []],
  ['the default timeout of its SDK', { 'x-stainless-lang': 'js' }, {}, []],
]
test.each(rows)(
  'deadline finding: is right for a client that declares %s, after three skipped waits',
  async (_, headers, more, kinds) => {
    const app = createTestApp()
    await accepted(app.fetch('/_understudy/scenario', { method: 'PUT', body: JSON.stringify(DOWN) }))
    expect((await app.post('/v2/router/chat/completions', { ...body, ...more }, headers)).status).toBe(200)
    const { findings } = (await app.fetch('/_understudy/verify')).json() as unknown as Verification
    expect(findings.map(({ kind }) => kind)).toEqual(kinds as never)
    for (const { severity, message } of findings) {
      expect(severity).toBe('warning')
      expect(message).toMatch(
        /^a call would take \d+(\.\d)? s if the waits of the gateway were not skipped, but the timeout of the client is 5 s$/,
      )
    }
    app.close()
  },
)
