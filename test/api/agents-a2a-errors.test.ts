// Errors of agents over A2A: each with the code of the protocol and the reason.
import { afterAll, describe, expect, test } from 'bun:test'
import { a2aServer, asTask, call, rpc, says, v1 } from '../support/a2a.ts'

const { served, met, close } = a2aServer()
afterAll(close)

describe('A2A requests', () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] }
  const push = { url: 'http://localhost/hook' }
  test.each<[string, unknown, number, Record<string, string>?]>([
    ['a body that is not JSON', '{', -32700],
    ['a lone surrogate', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700],
    ['a value that is nested too deep', `${'['.repeat(5000)}${']'.repeat(5000)}`, -32700],
    ['a batch', [], -32600],
    ['another JSON-RPC version', { jsonrpc: '1.0', id: 1, method: 'GetTask' }, -32600],
    ['a call without a method', { jsonrpc: '2.0', id: 1 }, -32600],
    ['an invalid id', { jsonrpc: '2.0', id: {}, method: 'GetTask' }, -32600],
    ['an unknown method', rpc('Fly'), -32601],
    ['a method of A2A 0.3 in version 1.0', rpc('message/send'), -32601],
    ['a method of A2A 1.0 in version 0.3', rpc('SendMessage'), -32601, {}],
    ['invalid parameters', rpc('GetTask', []), -32602],
    ['a task without an id', rpc('GetTask', {}), -32602],
    ['a missing message', rpc('SendMessage', {}), -32602],
    ['a message without parts', rpc('SendMessage', { message: { ...message, parts: [] } }), -32602],
    ['an empty part', rpc('SendMessage', { message: { ...message, parts: [{}] } }), -32602],
    [
      'a message with the role of the agent',
      rpc('SendMessage', { message: { ...message, role: 'ROLE_AGENT' } }),
      -32602,
    ],
    ['a message with a lone surrogate', rpc('SendMessage', { message, configuration: { historyLength: -1 } }), -32602],
    [
      'a message with a push notification URL',
      rpc('SendMessage', { message, configuration: { taskPushNotificationConfig: push } }),
      -32003,
    ],
    ['a push notification subscription', rpc('CreateTaskPushNotificationConfig', { taskId: 't', ...push }), -32003],
    ['a query for push notification settings', rpc('ListTaskPushNotificationConfigs', { taskId: 't' }), -32003],
    [
      'a push notification subscription of A2A 0.3',
      rpc('tasks/pushNotificationConfig/set', { taskId: 't', pushNotificationConfig: push }),
      -32003,
      {},
    ],
    ['an extended agent card', rpc('GetExtendedAgentCard'), -32007],
    ['an unsupported version', rpc('GetTask', { id: 't' }), -32009, { 'a2a-version': '2.0' }],
  ])('reject %s', async (_, body, expected, headers = v1) => {
    const { url } = await served(['Yes.'])
    const answer = await call(url, body, headers)
    expect([answer.status, answer.body.error?.code]).toEqual([200, expected])
    if (expected === -32003) expect(answer.body.error?.message).toContain('would open connections')
  })

  test('reject an unknown agent, an external agent and a content type that is not JSON', async () => {
    const { url, one } = await served(['Yes.'])
    const other = url.replace(/helper$/, 'nobody')
    expect((await call(other, rpc('GetTask'))).status).toBe(404)
    expect((await fetch(`${other}/.well-known/agent-card.json`)).status).toBe(404)
    await one.ok('POST', '/v2/agents', external)
    const far = await call(url.replace(/helper$/, 'far'), rpc('GetTask'))
    expect([far.status, far.body.error?.code as unknown]).toEqual([400, 'agent_is_external'])
    expect((await call(url, 'a', { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('reject a task of another agent', async () => {
    const { client, one, url } = await met('1.0', ['Yes.'])
    const { id } = asTask(await client.sendMessage(says('Hi.')))
    await one.agent({ key: 'other' })
    const answer = await call(url.replace(/helper$/, 'other'), rpc('GetTask', { id }), v1)
    expect(answer.body.error?.code).toBe(-32001)
  })
})

const external = {
  key: 'far',
  type: 'a2a',
  role: 'Far',
  description: 'Somewhere else.',
  instructions: 'Help.',
  path: 'Default',
  model: 'openai/gpt-4o',
  settings: {},
  a2a: { agent_url: 'http://localhost:1/a2a' },
}
