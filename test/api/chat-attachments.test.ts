// Images, audio and files that a user sends: counted in the prompt, and named in the trace.
import { afterAll, describe, expect, test } from 'bun:test'
import sharp from 'sharp'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, messageOf, refused, user, whole } from '../support/chat.ts'

const app = createTestApp({ fixtures: [FIXTURES] })
afterAll(app.close)

const text = { type: 'text', text: 'What is this?' }
const image = (url: string, detail?: string) => ({ type: 'image_url', image_url: { url, detail } })
const file = (value: object) => ({ type: 'file', file: value })
const sound = (format: string, data: string) => ({ type: 'input_audio', input_audio: { format, data } })
const dataUrl = (type: string, bytes: Uint8Array | string) =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
const picture = (width: number, height: number, format: 'png' | 'jpeg' | 'webp' = 'png') =>
  sharp({ create: { width, height, channels: 3, background: 'teal' } })
    .toFormat(format)
    .toBuffer()

/** Tokens of a prompt beyond those of its text, and the trace's names. */
async function added(parts: object[]) {
  const { completion, answer } = await whole(app, user([text, ...parts]))
  const plain = (await whole(app, user([text]))).completion.usage.prompt_tokens
  const { prompt_tokens, prompt_tokens_details } = completion.usage
  return {
    tokens: prompt_tokens - plain,
    audio: prompt_tokens_details.audio_tokens,
    attachments: (await app.traceOf(answer)).attachments,
  }
}

describe('image tokens', () => {
  const rows: [string, number, number, string | undefined, number][] = [
    ['one tile', 512, 512, undefined, 85 + 170],
    ['a single pixel', 8, 8, 'auto', 85 + 170],
    ['two tiles', 513, 512, 'high', 85 + 2 * 170],
    ['a square scaled down to 768', 1024, 1024, 'high', 85 + 4 * 170],
    ['a banner scaled down to 2048', 4096, 512, 'high', 85 + 4 * 170],
    ['low detail', 2048, 2048, 'low', 85],
  ]
  test.each(rows)('count %s', async (_, width, height, detail, tokens) => {
    const url = dataUrl('image/png', await picture(width, height))
    expect(await added([image(url, detail)])).toMatchObject({
      tokens,
      attachments: [{ kind: 'image', name: 'image/png' }],
    })
  })

  test.each(['jpeg', 'webp'] as const)('read the size of a %s', async (format) => {
    const url = dataUrl(`image/${format}`, await picture(600, 300, format))
    expect(await added([image(url)])).toMatchObject({ tokens: 85 + 2 * 170 })
  })

  test('assume 1024 x 1024 for an image URL, which is never fetched', async () => {
    const url = 'http://nowhere.invalid/cat.png'
    expect(await added([image(url)])).toEqual({ tokens: 765, audio: 0, attachments: [{ kind: 'image', name: url }] })
  })

  test('assume 1024 x 1024 for broken data', async () => {
    expect(await added([image('data:image/png;base64,AAAA')])).toMatchObject({ tokens: 765 })
    expect(await added([image('')])).toMatchObject({ tokens: 765 })
  })
})

describe('file tokens', () => {
  const rows: [string, object, number, string][] = [
    ['a text', { file_data: dataUrl('text/plain', 'one two three four'), filename: 'a.txt' }, 4, 'a.txt'],
    ['JSON', { file_data: dataUrl('application/json', '[1]') }, 3, 'application/json'],
    ['a PDF', { file_data: dataUrl('application/pdf', new Uint8Array(160)), filename: 'a.pdf' }, 10, 'a.pdf'],
    [
      'bare base64',
      { file_data: Buffer.alloc(32).toString('base64'), mimeType: 'application/pdf' },
      2,
      'application/pdf',
    ],
    ['bare base64 without a type', { file_data: Buffer.alloc(32).toString('base64') }, 2, 'unnamed'],
    ['a file stored elsewhere', { file_id: 'file-1' }, 0, 'file-1'],
    ['a file at a URL', { uri: 'https://nowhere.invalid/a.pdf' }, 0, 'https://nowhere.invalid/a.pdf'],
  ]
  test.each(rows)('count %s', async (_, value, tokens, name) => {
    const found = await added([file(value)])
    expect(found).toMatchObject({ tokens, attachments: [{ kind: 'file', name }] })
  })
})

test('audio tokens: count ten a second', async () => {
  const wav = Buffer.alloc(2 * 48_000).toString('base64')
  const mp3 = Buffer.alloc(16_000).toString('base64')
  expect(await added([sound('wav', wav), sound('mp3', mp3)])).toEqual({
    tokens: 30,
    audio: 30,
    attachments: [
      { kind: 'audio', name: 'audio/wav' },
      { kind: 'audio', name: 'audio/mp3' },
    ],
  })
})

test('attachments: several kinds in several messages count in order, and fixtures match on the text', async () => {
  const messages = [
    { role: 'user', content: [image('http://x.invalid/1.png', 'low'), { type: 'text', text: 'First.' }] },
    { role: 'assistant', content: 'Yes?' },
    { role: 'user', content: [{ type: 'text', text: 'cou' }, file({ uri: 'b' }), { type: 'text', text: 'nt' }] },
  ]
  const { completion, answer } = await whole(app, { messages })
  expect(messageOf(completion).content).toStartWith('one two')
  expect((await app.traceOf(answer)).attachments.map(({ kind, name }) => [kind, name])).toEqual([
    ['image', 'http://x.invalid/1.png'],
    ['file', 'b'],
  ])
  await both(app, { messages })
})

const wrong: [string, unknown, string][] = [
  ['a part of an unknown type', [{ type: 'video' }], 'messages[0].content[0].type'],
  ['an image without a URL', [text, { type: 'image_url', image_url: {} }], 'messages[0].content[1].image_url.url'],
  ['an image that is text', [{ type: 'image_url', image_url: 'x' }], 'messages[0].content[0].image_url'],
  ['an unknown detail', [image('x', 'huge')], 'messages[0].content[0].image_url.detail'],
  ['audio without data', [sound('wav', undefined as never)], 'messages[0].content[0].input_audio.data'],
  ['audio of an unknown format', [sound('ogg', 'x')], 'messages[0].content[0].input_audio.format'],
  ['a file that is text', [{ type: 'file', file: 'x' }], 'messages[0].content[0].file'],
  ['an empty file', [file({ filename: 'a.pdf' })], 'messages[0].content[0].file'],
]
test.each(wrong)('attachment: rejects %s', async (_, content, param) => {
  expect((await refused(app, user(content))).param).toBe(param)
})
