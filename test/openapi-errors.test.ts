// The errors that the document shows are those that the server really gives.
import { afterAll, expect, test } from 'bun:test'
import { ERRORS } from '../src/docs/errors.ts'
import { testApps } from './support/app.ts'

const apps = testApps()
afterAll(() => apps.close())
const app = apps.appWith()

const hello = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
const guarded = {
  ...hello,
  messages: [{ role: 'user', content: 'Write to ada@example.com' }],
  guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }],
}
const failing = (fault: object) => ({ name: 'errors', clock: 'virtual', rules: [{ name: 'rule', fault }] })

/** A call that ends so, by status: its body, headers, and what the provider does. */
const CALLS: Record<number, { body?: object | string; headers?: Record<string, string>; fault?: object }> = {
  400: { body: { ...hello, temperature: 3 } },
  401: { headers: { authorization: '' } },
  415: { body: 'Hello', headers: { 'content-type': 'text/plain' } },
  422: { body: guarded },
  500: { fault: { type: 'http-error', status: 500 } },
  502: { fault: { type: 'reset' } },
  503: { fault: { type: 'http-error', status: 503 } },
  504: { body: { ...hello, timeout: { call_timeout: 1000 } }, fault: { type: 'hang' } },
}

test.each(Object.entries(CALLS))('%s', async (status, { body = hello, headers, fault }) => {
  if (fault) await app.post('/_understudy/sessions', { name: `of-${status}`, scenario: failing(fault) })
  const answer = await app.fetch(`${fault ? `/s/of-${status}` : ''}/v2/router/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const { error } = JSON.parse(answer.text)
  const { code, message, param = null } = ERRORS[Number(status)] ?? {}
  expect([answer.status, { ...error }]).toEqual([Number(status), { ...error, code, message, param }])
})
