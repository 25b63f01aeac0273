// The key of a request: what changes its meaning misses, and names the field; what does not change it hits.
import { afterAll, describe, expect, test } from 'bun:test'
import { upstreamRequest } from '../../src/backends/record/upstream-request.ts'
import { fieldDifferenceText, nearestInteraction } from '../../src/cassettes/nearest.ts'
import { conversationTurn } from '../../src/cassettes/noted.ts'
import type {
  Cassette,
  FormField,
  Interaction,
  UpstreamRequest,
  VolatileRule,
} from '../../src/contract/core/cassette.ts'
import { cassetteKey, comparableRequest } from '../../src/contract/core/cassette-key.ts'
import { chatInteraction, newHeader, writeCassette } from '../support/cassettes.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

type Json = Record<string, unknown>

const RULES: VolatileRule[] = [
  { name: 'run id', path: 'metadata.run_id' },
  { name: 'clock', path: 'messages[*].content', pattern: 'Now: \\S+' },
  { name: 'tags', path: 'tags[1]' },
]

const WORDS = ['weather', 'refund', 'invoice', 'Zürich', 'tomorrow', 'cat', 'ticket', 'order', '東京', 'help']
const tool = (name: string, type: string) => ({
  type: 'function',
  function: {
    name,
    parameters: { type: 'object', properties: { city: { type, description: 'A city.' } }, required: ['city'] },
  },
})

/** The request of a cassette by its number: of three operations, with conversations of several lengths. */
function requestOf(number: number): UpstreamRequest {
  const messages = Array.from({ length: 1 + (number % 5) }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: `Now: 10:${10 + number}\nTell me about ${WORDS[(number + turn) % WORDS.length]} number ${number}, please.`,
  }))
  const operation = ['chat.completions', 'messages', 'responses'][number % 3] ?? ''
  return {
    ...chatInteraction({
      model: 'gpt-4o',
      temperature: (number % 10) / 10,
      messages,
      tools: [tool('get_weather', 'string'), tool(`tool_${number}`, 'integer')],
      metadata: { run_id: `run-${number}`, team: 'a' },
      tags: ['first', `${number}`, 'last'],
    }).request,
    operation,
    headers: { 'anthropic-version': '2023-06-01' },
  }
}

/** A copy of a request whose body was changed. */
function changed(request: UpstreamRequest, change: (body: Json) => void, headers = request.headers): UpstreamRequest {
  const { body } = request
  if (body.kind !== 'json') throw new Error('not JSON')
  const value = structuredClone(body.value) as Json
  change(value)
  return { ...request, headers, body: { kind: 'json', value } }
}

const lastMessage = ({ messages }: Json) => (messages as { content: string }[]).at(-1) ?? { content: '' }
const MEANINGFUL: [string, (request: UpstreamRequest) => UpstreamRequest, RegExp][] = [
  [
    'a word',
    (request) =>
      changed(request, (body) => {
        const message = lastMessage(body)
        message.content = message.content.replace('please', 'thanks')
      }),
    /^messages\[\d\]\.content$/,
  ],
  [
    'a tool schema',
    (request) =>
      changed(request, (body) => {
        body.tools = [(body.tools as unknown[])[0], tool('other', 'number')]
      }),
    /^tools\[1\]\.function\./,
  ],
  ['the temperature', (request) => changed(request, (body) => void (body.temperature = 1.5)), /^temperature$/],
  [
    'a header',
    (request) => changed(request, () => {}, { ...request.headers, 'anthropic-beta': 'files-api' }),
    /^headers\.anthropic-beta$/,
  ],
]

/** The same value with the keys of all objects in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]): [string, unknown] => [name, reversed(inner)])
      .reverse(),
  )
}
const HARMLESS: ((request: UpstreamRequest) => UpstreamRequest)[] = [
  (request) => ({ ...request, body: { kind: 'json', value: reversed((request.body as { value: unknown }).value) } }),
  (request) => changed(request, (body) => void (body.metadata = { run_id: 'another', team: 'a' })),
  (request) => changed(request, (body) => void (body.metadata = { team: 'a' })),
  (request) =>
    changed(request, (body) => {
      for (const message of body.messages as { content: string }[])
        message.content = message.content.replace(/Now: \S+/, 'Now: 23:59')
    }),
  (request) => changed(request, (body) => void (body.tags = ['first', 'x', 'last'])),
  (request) => ({ ...request, path: '/other?x=1', headers: { ...request.headers, 'x-trace': '1' } }),
]

const recorded = async (number: number): Promise<Cassette> => {
  const others = [number + 1, number + 2].map(requestOf)
  const interactions = [...others, requestOf(number)].map(
    (request): Interaction => ({ ...chatInteraction({}), request }),
  )
  return writeCassette(folder.path, newHeader(`case ${number}`, { volatile: RULES }), interactions)
}
const hitsOf = ({ header, interactions }: Cassette, request: UpstreamRequest) =>
  interactions.filter((one) => cassetteKey(one.request, header.volatile) === cassetteKey(request, header.volatile))

describe('cassette key', () => {
  test('misses after each of 400 meaningful changes and names the field, and hits after 100 harmless ones', async () => {
    let [misses, hits] = [0, 0]
    for (let number = 0; number < 100; number++) {
      const cassette = await recorded(number)
      const request = requestOf(number)
      expect(hitsOf(cassette, request)).toHaveLength(1)
      for (const [what, change, field] of MEANINGFUL) {
        const sent = change(request)
        expect([what, hitsOf(cassette, sent)]).toEqual([what, []])
        const nearest = nearestInteraction(sent, cassette.interactions, cassette.header.volatile)
        expect(nearest?.interaction).toBe(cassette.interactions[2])
        expect(nearest?.differences.map(({ path }) => path).join()).toMatch(field)
        misses++
      }
      const harmless = HARMLESS[number % HARMLESS.length]?.(request) ?? request
      expect(JSON.stringify(harmless)).not.toBe(JSON.stringify(request))
      hits += hitsOf(cassette, harmless).length
    }
    expect([misses, hits]).toEqual([400, 100])
  })

  test.each(['anthropic-beta', 'openai-beta'])('does not depend on the order of the items in %s', (name) => {
    const key = (value: string) => cassetteKey({ ...requestOf(1), headers: { [name]: value } }, [])
    for (const same of ['b-2,a-1', 'b-2, a-1', 'a-1 ,b-2,a-1']) expect(key(same)).toBe(key('a-1,b-2'))
    for (const other of ['a-1', 'a-1,b-2,c-3', 'a-1,b-3', 'a-1b-2']) expect(key(other)).not.toBe(key('a-1,b-2'))
  })

  test('counts how often each rule applied, and only for its operation', () => {
    const rules: VolatileRule[] = [...RULES, { name: 'other', path: 'model', operation: 'embeddings' }]
    const { applied, request } = comparableRequest(requestOf(3), rules)
    expect(Object.fromEntries(applied)).toEqual({ 'run id': 1, clock: 4, tags: 1, other: 0 })
    expect(JSON.stringify(request.body)).not.toMatch(/run-3|10:13/)
  })

  test('applies a pattern to every text below its field', () => {
    const parts = (time: string) =>
      chatInteraction({ messages: [{ content: [{ type: 'text', text: `Now: ${time}` }] }] }).request
    expect(cassetteKey(parts('1'), RULES)).toBe(cassetteKey(parts('2'), RULES))
    expect(cassetteKey(parts('1'), [])).not.toBe(cassetteKey(parts('2'), []))
  })

  test('is the same whatever the numbers of placeholders, but keeps different secrets apart', () => {
    const key = (user: string, system: string) => cassetteKey(chatInteraction({ user, system }).request, [])
    expect(key('<secret:email:4>', 'to <secret:email:7>')).toBe(key('<secret:email:1>', 'to <secret:email:2>'))
    expect(key('<secret:email:1>', 'to <secret:email:1>')).not.toBe(key('<secret:email:1>', 'to <secret:email:2>'))
    expect(key('<secret:email:1>', '')).not.toBe(key('<secret:phone:1>', ''))
    const number = (value: number) => cassetteKey(chatInteraction({ value }).request, [])
    expect(number(-1111111111110007)).toBe(number(-1111111111110001))
    expect(number(-1111111111110007)).not.toBe(number(-1111111111120007))
  })

  test('is the same without `stream` and with `stream: false`, which the gateway adds', () => {
    const key = (body: Json) => cassetteKey(chatInteraction(body).request, [])
    expect(key({ messages: [], stream: false })).toBe(key({ messages: [] }))
    expect(key({ messages: [], stream: true })).not.toBe(key({ messages: [] }))
    expect(key({ messages: [{ stream: false }] })).not.toBe(key({ messages: [{}] }))
  })

  test('compares forms by name, and files by their content', () => {
    const form = (...fields: { name: string; value: string }[]): UpstreamRequest => ({
      ...requestOf(0),
      body: {
        kind: 'form',
        fields: [...fields, { name: 'file', file: 'a.mp3', type: 'audio/mpeg', size: 3, sha256: 'a'.repeat(64) }],
      },
    })
    const [one, two] = [
      { name: 'model', value: 'whisper-1' },
      { name: 'run', value: '1' },
    ]
    expect(cassetteKey(form(one, two), [])).toBe(cassetteKey(form(two, one), []))
    expect(cassetteKey(form(one, two), [{ name: 'run', path: 'run' }])).toBe(
      cassetteKey(form(one), [{ name: 'run', path: 'run' }]),
    )
    expect(cassetteKey(form(one), [])).not.toBe(cassetteKey(form(two), []))
  })
})

describe('request that is recorded', () => {
  const user = (content: string) => ({ role: 'user', content })
  const noted = (body: BodyInit | undefined, headers?: Record<string, string>) =>
    upstreamRequest({
      url: 'http://upstream.test/v1/audio?a=1',
      init: { body, ...(headers && { headers }) },
      attempt: { provider: 'openai', operation: 'audio.transcriptions', model: 'whisper-1', session: 's' },
    })
  const FIELDS = [
    { name: 'model', value: 'whisper-1' },
    {
      ...{ name: 'file', file: 'a.txt', type: 'text/plain;charset=utf-8', size: 5 },
      sha256: new Bun.CryptoHasher('sha256').update('hello').digest('hex'),
    },
  ]
  const form = () => {
    const made = new FormData()
    made.set('model', 'whisper-1')
    made.set('file', new File(['hello'], 'a.txt', { type: 'text/plain' }))
    return made
  }

  test('has the fields of a form, and of a file its checksum', async () => {
    const { path, body } = await noted(form())
    expect([path, body]).toMatchObject(['/v1/audio?a=1', { kind: 'form', fields: FIELDS }])
  })

  test('has the fields of a form that is passed on as bytes', async () => {
    const sent = new Response(form())
    const headers = { 'content-type': sent.headers.get('content-type') ?? '' }
    const bytes = await sent.bytes()
    expect((await noted(bytes, headers)).body).toMatchObject({ kind: 'form', fields: FIELDS })
    const broken = await noted(bytes.subarray(0, 10), headers)
    expect(broken.body.kind).toBe('text')
  })

  test('has the value of JSON, and any other text as it is', async () => {
    const bytes = (text: string) => new TextEncoder().encode(text)
    expect((await noted(bytes('{"a":1}'))).body).toEqual({ kind: 'json', value: { a: 1 } })
    expect((await noted(bytes('a=1'))).body).toEqual({ kind: 'text', text: 'a=1' })
    expect((await noted(undefined)).body).toEqual({ kind: 'text', text: '' })
  })

  test.each([
    ['messages', { messages: [user('a'), { role: 'assistant' }, user('b')] }, 2],
    ['items of responses', { input: [user('a')] }, 1],
    ["contents of Google's API", { contents: [user('a'), null, user('b'), user('c')] }, 3],
    ['no conversation', { input: 'a' }, 1],
  ])('has the number of its turn by %s', (_, value, turn) => {
    expect(conversationTurn(chatInteraction(value).request)).toBe(turn)
  })
})

describe('nearest interaction', () => {
  const nearest = (sent: Json, ...recordedBodies: Json[]) =>
    nearestInteraction(
      chatInteraction(sent).request,
      recordedBodies.map((body) => chatInteraction(body)),
      [],
    )?.differences.map(fieldDifferenceText)

  test('names the fields of a form that differ', () => {
    const form = (...fields: FormField[]): UpstreamRequest => ({ ...requestOf(0), body: { kind: 'form', fields } })
    const file = (sha256: string) => ({ name: 'file', file: 'a', type: '', size: 1, sha256 })
    const tags = (...values: string[]) => values.map((value) => ({ name: 'tags', value }))
    const recorded = { ...chatInteraction({}), request: form(...tags('a', 'b'), file('x')) }
    expect(nearestInteraction(form(...tags('a', 'c'), file('y')), [recorded], [])?.differences).toEqual([
      { path: 'tags[1]', recorded: 'b', sent: 'c' },
      { path: 'file.sha256', recorded: 'x', sent: 'y' },
    ])
  })

  test('is undefined without candidates', () => {
    expect(nearest({})).toBeUndefined()
  })

  test('is one of the same operation when there is any', () => {
    const other = { ...requestOf(1), operation: 'embeddings' }
    const found = nearestInteraction(
      requestOf(1),
      [other, { ...requestOf(7), operation: 'messages' }].map((request) => ({ ...chatInteraction({}), request })),
      [],
    )
    expect(found?.interaction.request.operation).toBe('messages')
  })

  test('shows a message that was added or removed as one difference', () => {
    const list = (...contents: string[]) => ({ messages: contents.map((content) => ({ role: 'user', content })) })
    expect(nearest(list('a', 'new', 'b', 'c'), list('a', 'b', 'c'))).toEqual([
      'messages[1]: recorded nothing, sent {"role":"user","content":"new"}',
    ])
    expect(nearest(list('a', 'c'), list('a', 'b', 'c'), list('x', 'y', 'z'))).toEqual([
      'messages[1]: recorded {"role":"user","content":"b"}, sent nothing',
    ])
  })

  test('shows of a long text the part that differs', () => {
    const text = (word: string) => ({ prompt: `${'lorem ipsum '.repeat(50)}${word} dolor sit amet` })
    expect(nearest(text('cat'), text('dog'))).toEqual([
      'prompt: recorded "...um lorem ipsum dog dolor sit amet", sent "...um lorem ipsum cat dolor sit amet"'.replaceAll(
        '...um lorem ipsum ',
        `...${'lorem ipsum '.repeat(50).slice(-20)}`,
      ),
    ])
  })

  test('takes linear time', () => {
    const big = (last: string) => ({
      messages: Array.from({ length: 500 }, (_, index) => ({
        role: 'user',
        content: `${index} ${'x'.repeat(1_000)}`,
      })).concat({
        role: 'user',
        content: last,
      }),
    })
    expect(nearest(big('end'), ...Array.from({ length: 40 }, (_, index) => big(`other ${index}`)))).toHaveLength(1)
  })
})
