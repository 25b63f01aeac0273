// The identity of a call becomes a contact, and its thread groups the traces.
import { afterAll, describe, expect, test } from 'bun:test'
import { SHIPPED_WORKSPACE } from '../support/app.ts'
import { A, closeScripted, createScripted, FORMS, refuses, type ScriptedApp, says } from '../support/scripted.ts'
import { strict } from '../support/strict/workspace.ts'

afterAll(closeScripted)
type Fields = Record<string, unknown>
const ada = {
  id: 'user-1',
  display_name: 'Ada',
  email: 'ada@example.com',
  logo_url: 'https://example.com/ada.png',
  tags: ['beta'],
  metadata: [{ team: 'engines' }, { floor: 2 }],
}
const appOf = () => createScripted({ [A]: [says('Yes.')] })
const contactsOf = async (app: ScriptedApp, headers: Record<string, string> = {}) => {
  const { data } = (await app.fetch('/v2/contacts', { headers })).json() as { data: Fields[] }
  return data
}

describe.each(FORMS)('caller identity, %s', (_, stream) => {
  test.each<[where: string, body: object]>([
    ['identity', { identity: ada }],
    ['the older contact', { contact: ada }],
    ['the service options', { svc: { identity: ada } }],
  ])('%s: becomes a contact when the call is answered, and is in the trace', async (_, body) => {
    const app = appOf()
    const answer = await app.ask({ stream, ...body })
    const [contact, ...others] = await contactsOf(app)
    expect(others).toEqual([])
    strict.contact?.parse(contact)
    expect(contact).toMatchObject({
      external_id: 'user-1',
      display_name: 'Ada',
      email: 'ada@example.com',
      avatar_url: 'https://example.com/ada.png',
      tags: ['beta'],
      metadata: { team: 'engines', floor: 2 },
    })
    expect((await app.traceOf(answer)).identity).toEqual(ada)
  })
})

test('caller identity: is one contact, however many calls arrive at once', async () => {
  const app = appOf()
  const [one, two] = [{ identity: { id: 'a' } }, { identity: { id: 'b' } }]
  await Promise.all([one, two, one, one, two].map((body) => app.ask(body)))
  await app.ask(one)
  expect((await contactsOf(app)).map(({ external_id }) => external_id)).toEqual(['b', 'a'])
})

test('caller identity: leaves a known contact as it is', async () => {
  const app = appOf()
  await app.post('/v2/contacts', { external_id: 'user-1', display_name: 'Countess' })
  const before = await contactsOf(app)
  await app.ask({ identity: ada })
  expect(await contactsOf(app)).toEqual(before)
})

test('caller identity: is stored when the call fails, and not when its body is rejected', async () => {
  const app = createScripted({ [A]: [refuses(500)] })
  await app.ask({ identity: { id: 'a' } })
  await app.ask({ identity: { id: 'b' }, temperature: 9 })
  await app.ask({ identity: { id: 'c' }, model: 'nobody/x' })
  expect((await contactsOf(app)).map(({ external_id }) => external_id)).toEqual(['a'])
})

test('caller identity: leaves out invalid fields, and an invalid id creates no contact', async () => {
  const app = appOf()
  await app.ask({ identity: { id: 'a', logo_url: 'logo.png', display_name: 'A' } })
  await app.ask({ identity: { id: 'x'.repeat(121) } })
  const contacts = await contactsOf(app)
  expect(contacts).toHaveLength(1)
  expect(contacts[0]).toMatchObject({ external_id: 'a', display_name: 'A' })
  expect(contacts[0]).not.toHaveProperty('avatar_url')
})

test('caller identity: rejects an invalid e-mail address and creates no contact', async () => {
  const app = appOf()
  const answer = await app.ask({ identity: { id: 'a', email: 'at home' } })
  expect([answer.status, JSON.parse(answer.text).error.param]).toEqual([400, 'identity.email'])
  expect(await contactsOf(app)).toHaveLength(0)
})

test('caller identity: belongs to the session and workspace of the call', async () => {
  const tokens = { 'key-1': { workspace: 'acme' }, 'key-2': { workspace: 'other' } }
  const app = createScripted({ [A]: [says('Yes.')] }, { tokens })
  const message = { model: A, messages: [{ role: 'user', content: 'Hi' }], identity: { id: 'a' } }
  await app.post('/v2/router/chat/completions', message, { authorization: 'Bearer key-1' })
  await app.post('/s/own/v2/router/chat/completions', message)
  const counts = [
    await contactsOf(app, { authorization: 'Bearer key-1' }),
    await contactsOf(app, { authorization: 'Bearer key-2' }),
    await contactsOf(app),
    await contactsOf(app, { 'x-understudy-session': 'own' }),
  ].map(({ length }) => length)
  expect(counts).toEqual([1, 0, 0, 1])
})

test('caller identity: does not prevent the seed of a new session', async () => {
  const app = createScripted({ [A]: [says('Yes.')] }, SHIPPED_WORKSPACE)
  await app.ask({ identity: { id: 'somebody-new' } })
  const contacts = await contactsOf(app)
  expect(contacts.length).toBeGreaterThan(1)
  expect(contacts[0]).toMatchObject({ external_id: 'somebody-new' })
})

describe('threads', () => {
  test('group traces, wherever they are given in the call', async () => {
    const app = appOf()
    const threads = [
      { thread: { id: 'one', tags: ['x'] } },
      { svc: { thread: { id: 'two' } } },
      {},
      { thread: { id: 'one' } },
    ]
    for (const [index, body] of threads.entries()) await app.ask({ ...body, name: `call ${index}` })
    const named = async (thread: string) => {
      const { data } = (await app.fetch(`/_understudy/traces?thread=${thread}`)).json() as { data: Fields[] }
      return data.map(({ name }) => name)
    }
    expect(await named('one')).toEqual(['call 3', 'call 0'])
    expect(await named('two')).toEqual(['call 1'])
    expect(await named('three')).toEqual([])
  })

  test('are named in the trace', async () => {
    const app = appOf()
    const thread = { id: 'one', tags: ['x'] }
    expect((await app.traceOf(await app.ask({ thread }))).thread).toEqual(thread)
  })
})
