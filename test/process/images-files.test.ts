import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { createTestApp } from '../support/app.ts'
import { A, B, browse, bytesOf, C, draw, files, IMAGES } from '../support/images.ts'
import { emptyFolder, startServer } from '../support/server.ts'

const HOUR = 3_600_000
const app = createTestApp()
afterAll(app.close)
const folder = emptyFolder()
afterAll(folder.remove)

const withoutFile = async (response: Response) => {
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { code: '404', error: { type: 'not_found_error', code: 'file_not_found', param: null } },
  ])
}

test.each([
  [A, { size: '256x256', n: 2 }],
  [B, { size: '1792x1024', style: 'natural' }],
  [B, { response_format: 'url' }],
])('image %s %j: has URLs that return the bytes of base64', async (model, fields) => {
  const { data } = await draw(app, { model, ...fields })
  const expected = await files(app, { model, ...fields, response_format: 'b64_json' })
  expect(data).toHaveLength(expected.length)
  for (const [index, picture] of data.entries()) {
    expect(Object.keys(picture)).not.toContain('b64_json')
    expect(picture.url).toMatch(/^http:\/\/localhost\/files\/[0-9a-f]{32}\.png$/)
    const response = await browse(app, picture.url)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(expected[index]?.length),
      'cache-control': 'public, max-age=3600, immutable',
    })
    expect(Buffer.from(await response.bytes())).toEqual(expected[index] ?? Buffer.of())
    const head = await browse(app, picture.url, 'HEAD')
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(expected[index]?.length)])
    expect(await head.text()).toBe('')
  }
})

test('image: has a URL of its own in every call', async () => {
  const wish = { model: A, size: '256x256', n: 3 }
  const answers = [await draw(app, wish), await draw(app, wish)]
  expect(new Set(answers.flatMap(({ data }) => data.map(({ url }) => url))).size).toBe(6)
})

test('image file: exists for an hour of its session, and an unknown name is not found', async () => {
  const one = createTestApp()
  const { url } = (await draw(one, { model: A, size: '256x256' })).data[0] ?? {}
  const { clock } = one.understudy.sessions.get('default')
  await clock.sleep(HOUR - 2_000)
  const late = await browse(one, url)
  expect([late.status, late.headers.get('cache-control')]).toEqual([200, 'public, max-age=2, immutable'])
  await clock.sleep(2_000)
  await withoutFile(await browse(one, url))
  await withoutFile(await browse(one, 'http://localhost/files/0123456789abcdef0123456789abcdef.png'))
  await withoutFile(await browse(one, url?.replace('.png', '.webp')))
  expect((await browse(one, 'http://localhost/files/unknown.png', 'HEAD')).status).toBe(404)
  await one.close()
})

test.each([
  ['/s/blue', {}],
  ['', { authorization: 'Bearer session:blue' }],
  ['', { 'x-understudy-session': 'blue' }],
])('image URL for a call at %p with %j: points into its session', async (prefix, headers) => {
  const one = createTestApp()
  const body = { model: A, prompt: 'a red fox', size: '256x256' }
  const answer = await one.post(`${prefix}${IMAGES}`, body, headers)
  const { data } = answer.json() as { data: { url: string }[] }
  const url = data[0]?.url ?? ''
  expect(url).toStartWith('http://localhost/s/blue/files/')
  expect((await browse(one, url)).status).toBe(200)
  await withoutFile(await browse(one, url.replace('/s/blue', '')))
  await withoutFile(await browse(one, url.replace('blue', 'red')))
  expect(one.understudy.sessions.list().map(({ name }) => name)).toEqual(['default', 'blue'])
  await one.close()
})

test('image file: needs no token where calls need one, and accepts any', async () => {
  const one = createTestApp({ token: ['secret'] })
  const { data } = await draw(one, { model: A, size: '256x256' }, { authorization: 'Bearer secret' })
  const url = data[0]?.url ?? ''
  expect((await browse(one, url)).status).toBe(200)
  const path = url.replace('http://localhost', '')
  expect((await one.fetch(path, { headers: { authorization: 'Bearer session:red' } })).status).toBe(200)
  expect((await one.fetch('/_understudy/traces')).status).toBe(401)
  await one.close()
})

test('image file: survives a restart on the same database', async () => {
  const db = join(folder.path, 'restart.db')
  const before = createTestApp({ db })
  const { url } = (await draw(before, { model: A, size: '256x256' })).data[0] ?? {}
  await before.close()
  const after = createTestApp({ db })
  const response = await browse(after, url)
  const [expected] = await files(app, { model: A, size: '256x256' })
  expect(Buffer.from(await response.bytes())).toEqual(expected ?? Buffer.of())
  await after.close()
})

test('image file: may be the first request to a session of an earlier process', async () => {
  const settings = { sessions_dir: join(folder.path, 'sessions'), clock: 'real' as const }
  const before = createTestApp(settings)
  const { url } = (await draw(before, { model: A, size: '256x256' }, { 'x-understudy-session': 'blue' })).data[0] ?? {}
  await before.close()
  const after = createTestApp(settings)
  await withoutFile(await browse(after, url?.replace('blue', 'red')))
  expect((await browse(after, url)).status).toBe(200)
  await after.close()
})

test('image fixture: sets the picture, the revised prompt and the timing', async () => {
  const path = join(folder.path, 'fixtures.yaml')
  const fixture = [
    '- match: { operation: images.generations, user: { regex: "a (?<colour>\\\\w+) car" } }',
    '  reply:',
    '    prompt: a red fox',
    '    revised_prompt: "{{captures.colour}}, they said to {{call.model}}"',
    '    timing: { first_token: 8s }',
  ]
  writeFileSync(path, fixture.join('\n'))
  const one = createTestApp({ fixtures: [path] })
  const { answer, data } = await draw(one, { model: B, prompt: 'a green car', response_format: 'b64_json' })
  expect(data[0]?.revised_prompt).toBe(`green, they said to ${B}`)
  expect(bytesOf(data[0])).toEqual((await files(app, { model: B }))[0] ?? Buffer.of())
  expect(await one.traceOf(answer)).toMatchObject({
    fixture: 'images.generations/fixtures[0]',
    generated: false,
    duration_ms: 8_000,
  })
  const { data: others } = await draw(one, { model: A, prompt: 'a green car', size: '256x256', n: 2 })
  expect(others.map((picture) => Object.keys(picture))).toEqual([['url'], ['url']])
  await one.close()
})

test('image fixture: supplies own files, as base64 and URL, and token counts', async () => {
  const own = async (format: 'png' | 'webp') =>
    (
      await sharp({ create: { width: 3, height: 2, channels: 3, background: 'red' } })
        .toFormat(format)
        .toBuffer()
    ).toString('base64')
  const given = [await own('png'), await own('webp')]
  const path = join(folder.path, 'own.json')
  const reply = { images: given, usage: { output_tokens: 7 } }
  writeFileSync(path, JSON.stringify({ match: { operation: 'images.generations' }, reply }))
  const one = createTestApp({ fixtures: [path] })
  const { data: encoded, usage } = await draw(one, { model: C, n: 3 })
  expect(encoded.map(({ b64_json }) => b64_json)).toEqual([given[0], given[1], given[0]])
  expect(usage).toMatchObject({ input_tokens: 3, output_tokens: 7, total_tokens: 10 })
  const { data } = await draw(one, { model: A, n: 2, size: '256x256' })
  for (const [index, { url }] of data.entries()) {
    const response = await browse(one, url)
    expect(url).toEndWith(['.png', '.webp'][index] ?? '')
    expect(response.headers.get('content-type')).toBe(['image/png', 'image/webp'][index] ?? '')
    expect(Buffer.from(await response.bytes()).toString('base64')).toBe(given[index] ?? '')
  }
  await one.close()
})

test.each([
  ['images: [aGVsbG8=]', 'broken.yaml:3:12: reply.images[0] must be a PNG, JPEG or WebP file as base64'],
  ['images: [not base64!]', 'images[0] must be'],
  ['images: []', 'images must be at least 1 item'],
  ['content: hello', 'reply.content is not known; valid: prompt, images, '],
])('image fixture: rejects %p: %s', (reply, words) => {
  const path = join(folder.path, 'broken.yaml')
  writeFileSync(path, `match: { operation: images.generations }\nreply:\n  ${reply}\n`)
  expect(() => createTestApp({ fixtures: [path] })).toThrow(words)
})

test('executable: draws, encodes and serves images without other files', async () => {
  const server = await startServer(['--db', ':memory:'], { cwd: folder.path })
  const ask = async (body: object) => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer any' }
    const request = { method: 'POST', headers, body: JSON.stringify({ prompt: 'a red fox', ...body }) }
    const response = await fetch(`${server.url}${IMAGES}`, request)
    return ((await response.json()) as { data: { url: string; b64_json: string }[] }).data[0]
  }
  const { url = '' } = (await ask({ model: A, size: '256x256' })) ?? {}
  expect(url).toStartWith(`${server.url}/files/`)
  const head = await fetch(url, { method: 'HEAD' })
  const file = Buffer.from(await (await fetch(url)).bytes())
  expect(head.headers.get('content-length')).toBe(String(file.length))
  const [expected] = await files(app, { model: A, size: '256x256' })
  expect(file).toEqual(expected ?? Buffer.of())
  const webp = bytesOf(await ask({ model: C, output_format: 'webp', background: 'transparent' }))
  expect(await sharp(webp).metadata()).toMatchObject({ format: 'webp', width: 1024, height: 1024, hasAlpha: true })
  expect(await server.stop()).toBe(0)
})
