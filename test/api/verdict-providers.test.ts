// A client's own fallback to another provider: whatever SDK writes the request in whatever encoding, it asks the same.
import { afterAll, describe, expect } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, type ModelMessage, Output, streamText, tool } from 'ai'
import fc from 'fast-check'
import OpenAI from 'openai'
import { z } from 'zod'
import type { Verification } from '../../src/contract/core/verification.ts'
import { readQuestion } from '../../src/lib/question.ts'
import { createTestApp } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'
import { property, runs, test } from '../support/property.ts'

const app = createTestApp()
afterAll(app.close)

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string().min(1), days: z.int().optional() }),
})
const conversation: ModelMessage[] = [
  { role: 'user', content: 'What is the weather in Paris?' },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I will look.' },
      { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { days: 2, city: 'Paris' } },
    ],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'call_1',
        toolName: 'weather',
        output: { type: 'json', value: { sun: true, degrees: 20 } },
      },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'And in this one?' },
      { type: 'image', image: PNG, mediaType: 'image/png' },
      { type: 'text', text: 'Be brief.' },
    ],
  },
]
/** What programs ask, each with one part that encodings differ in. */
const asked: Record<string, Partial<Parameters<typeof generateText>[0]>> = {
  'a prompt': { prompt: 'Hello' },
  instructions: { system: 'You are terse.\nVery.', prompt: 'Hello', temperature: 0.5, maxOutputTokens: 50 },
  'a conversation with tools, results and an image': { messages: conversation, tools: { weather } },
  'a response as JSON': {
    prompt: 'Which city?',
    output: Output.object({ schema: z.object({ city: z.string(), people: z.int().min(1) }) }),
  },
  'a document': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', data: 'JVBERi0xLjQK', mediaType: 'application/pdf', filename: 'paper.pdf' },
          { type: 'text', text: 'Summarize this.' },
        ],
      },
    ],
  },
}

/** The providers of the SDK, whose requests go to a session; the bodies are kept. */
function providersOf(session: string) {
  const bodies: string[] = []
  const into = fetchInto(app)
  const fetch = Object.assign(
    (input: string | URL | Request, init?: RequestInit) => {
      bodies.push(String(init?.body))
      return into(input, init)
    },
    { preconnect() {} },
  )
  const shared = { baseURL: 'http://localhost/v1', apiKey: `session:${session}`, fetch }
  const [openai, anthropic] = [createOpenAI(shared), createAnthropic(shared)]
  return {
    bodies,
    models: {
      chat: openai.chat('gpt-4o'),
      responses: openai.responses('gpt-4o'),
      anthropic: anthropic('claude-sonnet-4-5'),
    },
  }
}
const play = (session: string, calls: number | string, fault: object = { type: 'http-error', status: 503 }) =>
  app.fetch('/_understudy/scenario', {
    method: 'PUT',
    headers: { authorization: `Bearer session:${session}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'day', rules: [{ name: 'bad', when: { calls }, fault }] }),
  })
const verdictOf = async (session: string) =>
  (
    await app.fetch('/_understudy/verify?ended=well', { headers: { authorization: `Bearer session:${session}` } })
  ).json() as unknown as Verification

const routes = [
  ['chat', 'anthropic'],
  ['responses', 'anthropic'],
  ['anthropic', 'chat'],
  ['anthropic', 'responses'],
] as const

describe.each(Object.keys(asked))('AI SDK request with %s', (what) => {
  const request = asked[what] as Parameters<typeof generateText>[0]

  test.each(routes)('is recognized as repeated in a fallback from %s to %s', async (from, to) => {
    const session = `${what.replace(/\W/g, '-')}-${from}-${to}`.slice(0, 60)
    const { models, bodies } = providersOf(session)
    await play(session, 1)
    await generateText({ ...request, model: models[from], maxRetries: 0 }).catch(() => {})
    await generateText({ ...request, model: models[to], maxRetries: 0 }).catch(() => {})
    const [first, second] = bodies.map((body) => readQuestion(body).id)
    expect(first).toBe(second)
    const { findings, recovery_paths: paths, calls } = await verdictOf(session)
    expect({ findings, calls, fallbacks: paths.client_fallback }).toEqual({ findings: [], calls: 2, fallbacks: 1 })
  })
})

test('AI SDK: is not reported for a swallowed response when a cut stream is repeated with another provider', async () => {
  const session = 'broken-stream'
  const { models } = providersOf(session)
  await play(session, 1, { type: 'cut-stream', after_chunks: 2 })
  const read = async (model: (typeof models)['chat' | 'anthropic']) => {
    try {
      for await (const _ of streamText({ model, prompt: 'Tell me a story', maxRetries: 0, onError() {} }).textStream);
    } catch {
      // It breaks off.
    }
  }
  await read(models.responses as (typeof models)['chat'])
  await read(models.anthropic)
  expect((await verdictOf(session)).findings).toEqual([])
})

test('provider SDKs: ask the same question in each encoding of texts, parts and instructions', async () => {
  const bodies: string[] = []
  const fetch = async (_: unknown, init?: RequestInit) => {
    bodies.push(String(init?.body))
    return Response.json({})
  }
  const openai = new OpenAI({ apiKey: 'any', fetch: fetch as typeof globalThis.fetch })
  const anthropic = new Anthropic({ apiKey: 'any', fetch: fetch as typeof globalThis.fetch })
  const image = `data:image/png;base64,${PNG}`
  await openai.chat.completions.create({
    model: 'gpt-4o',
    seed: 3,
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: image } },
        ],
      },
    ],
  })
  await openai.chat.completions.create({
    model: 'gpt-5',
    stream: false,
    messages: [
      { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it? ' },
          { type: 'image_url', image_url: { url: image, detail: 'low' } },
        ],
      },
    ],
  })
  await openai.responses.create({
    model: 'gpt-4o',
    instructions: 'Be brief.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is it?' },
          { type: 'input_image', image_url: image, detail: 'auto' },
        ],
      },
    ],
  })
  await anthropic.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 99,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
        ],
      },
    ],
  })
  expect(bodies).toHaveLength(4)
  expect(new Set(bodies.map((body) => readQuestion(body).id)).size).toBe(1)
})

/** Requests that are alike in all but one thing. */
const base = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Read this: oats' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Summarize it.' },
  ],
  tools: [
    {
      type: 'function',
      function: {
        name: 'look',
        description: 'Looks.',
        parameters: { type: 'object', properties: { at: { type: 'string' } } },
      },
    },
  ],
}
const changed = (at: number, content: unknown) => ({
  ...base,
  messages: base.messages.map((message, index) => (index === at ? { ...message, content } : message)),
})
test.each<[string, object]>([
  ['instructions', changed(0, 'Be long.')],
  ['an earlier message', changed(1, 'Read this: rye')],
  ["the model's message", changed(2, 'Not done.')],
  ['the last text', changed(3, 'Translate it.')],
  [
    'an image',
    changed(3, [
      { type: 'text', text: 'Summarize it.' },
      { type: 'image_url', image_url: { url: 'http://localhost/a.png' } },
    ]),
  ],
  ['a tool', { ...base, tools: [{ type: 'function', function: { name: 'listen' } }] }],
  ['one tool less', { ...base, tools: [] }],
  [
    'the response format',
    {
      ...base,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'object', properties: { a: {} } } },
      },
    },
  ],
  ['one message less', { ...base, messages: base.messages.slice(1) }],
])('question identity: differs with %s', (_, other) => {
  expect(readQuestion(JSON.stringify(other)).template).not.toBe(readQuestion(JSON.stringify(base)).template)
})

test('question identity: does not depend on settings and the model', () => {
  const settings = {
    model: 'b',
    temperature: 0,
    max_tokens: 3,
    stream: true,
    user: 'x',
    metadata: { a: '1' },
    tool_choice: 'auto',
  }
  expect(readQuestion(JSON.stringify({ ...base, ...settings })).id).toBe(readQuestion(JSON.stringify(base)).id)
})

/** A conversation, before any API has written it down. */
interface Talk {
  system: string
  turns: { words: string[]; picture: boolean; call: string; reply: string }[]
  last: string
}
const words = fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8}){0,3}$/)
const talks: fc.Arbitrary<Talk> = fc.record({
  system: fc.oneof(fc.constant(''), words),
  turns: fc.array(
    fc.record({
      words: fc.array(words, { minLength: 1, maxLength: 3 }),
      picture: fc.boolean(),
      call: words,
      reply: words,
    }),
    { maxLength: 4 },
  ),
  last: words,
})
const url = `data:image/png;base64,${PNG}`
const textParts = (type: string, texts: readonly string[]) => texts.map((text) => ({ type, text }))
/** The ways in which APIs and SDKs write it down. */
const ENCODINGS: Record<string, (talk: Talk) => object> = {
  'chat, strings where it can': ({ system, turns, last }) => ({
    messages: [
      ...(system ? [{ role: 'system', content: system }] : []),
      ...turns.flatMap((turn, index) => [
        turn.picture
          ? { role: 'user', content: [...textParts('text', turn.words), { type: 'image_url', image_url: { url } }] }
          : { role: 'user', content: turn.words.join('\n') },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: `a${index}`,
              type: 'function',
              function: { name: 'look', arguments: `{"at": "${turn.call}", "n":1}` },
            },
          ],
        },
        { role: 'tool', tool_call_id: `a${index}`, content: turn.reply },
      ]),
      { role: 'user', content: last },
    ],
  }),
  'chat, parts everywhere': ({ system, turns, last }) => ({
    temperature: 0,
    messages: [
      ...(system ? [{ role: 'developer', content: textParts('text', [system]) }] : []),
      ...turns.flatMap((turn, index) => [
        {
          role: 'user',
          content: [
            ...textParts('text', turn.words),
            ...(turn.picture ? [{ type: 'image_url', image_url: { url, detail: 'high' } }] : []),
          ],
        },
        {
          role: 'assistant',
          content: '',
          tool_calls: [
            { id: `b${index}`, type: 'function', function: { name: 'look', arguments: `{"n":1,"at":"${turn.call}"}` } },
          ],
        },
        { role: 'tool', tool_call_id: `b${index}`, content: textParts('text', [turn.reply]) },
      ]),
      { role: 'user', content: textParts('text', [` ${last}\n`]) },
    ],
  }),
  responses: ({ system, turns, last }) => ({
    ...(system && { instructions: system }),
    input: [
      ...turns.flatMap((turn, index) => [
        {
          type: 'message',
          role: 'user',
          content: [
            ...textParts('input_text', turn.words),
            ...(turn.picture ? [{ type: 'input_image', image_url: url }] : []),
          ],
        },
        { type: 'reasoning', id: `r${index}`, summary: [] },
        { type: 'function_call', call_id: `c${index}`, name: 'look', arguments: `{"at":"${turn.call}","n":1}` },
        { type: 'function_call_output', call_id: `c${index}`, output: turn.reply },
      ]),
      { role: 'user', content: last },
    ],
  }),
  messages: ({ system, turns, last }) => {
    const content: { role: string; content: unknown }[] = turns.flatMap((turn, index) => [
      {
        role: 'user',
        content: [
          ...(index > 0
            ? [{ type: 'tool_result', tool_use_id: `d${index - 1}`, content: turns[index - 1]?.reply }]
            : []),
          ...textParts('text', turn.words),
          ...(turn.picture
            ? [
                {
                  type: 'image',
                  source: { type: 'base64', media_type: 'image/png', data: PNG },
                  cache_control: { type: 'ephemeral' },
                },
              ]
            : []),
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'tool_use', id: `d${index}`, name: 'look', input: { at: turn.call, n: 1 } },
        ],
      },
    ])
    const result = turns.at(-1)?.reply
    const before =
      result === undefined ? [] : [{ type: 'tool_result', tool_use_id: 'd', content: textParts('text', [result]) }]
    return {
      max_tokens: 9,
      ...(system && { system: textParts('text', [system]) }),
      messages: [...content, { role: 'user', content: [...before, ...textParts('text', [last])] }],
    }
  },
}
const idsIn = (talk: Talk) => Object.values(ENCODINGS).map((encode) => readQuestion(JSON.stringify(encode(talk))).id)
const RUNS = runs(300)

property(
  'property: any conversation is the same question in each encoding, and another one when a word differs',
  () => {
    fc.assert(
      fc.property(talks, fc.nat(), (talk, place) => {
        const [id] = idsIn(talk)
        expect(new Set(idsIn(talk)).size).toBe(1)
        const other = structuredClone(talk)
        const turn = other.turns[place % (other.turns.length + 1)]
        if (!turn) other.last += ' x'
        else if (place % 3 === 0) turn.words = [...turn.words, 'x']
        else if (place % 3 === 1) turn.call += ' x'
        else turn.reply += ' x'
        expect(idsIn(other).includes(id ?? '')).toBe(false)
      }),
      { numRuns: RUNS },
    )
  },
)
