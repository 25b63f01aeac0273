// The executable contains some libraries and files compressed, and is the only program that unpacks them.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { docx, pdf } from '../support/documents.ts'
import { EXECUTABLE, emptyFolder, type OwnServer, startServer } from '../support/server.ts'
import type { Json } from '../support/workspace.ts'

const folder = emptyFolder()
let server: OwnServer
beforeAll(async () => {
  server = await startServer(['--db', ':memory:'], { cwd: folder.path })
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

const call = async (path: string, init: RequestInit = {}): Promise<Json> => {
  const headers = { authorization: 'Bearer any', ...(typeof init.body === 'string' && JSON_BODY) }
  return (await fetch(`${server.url}${path}`, { ...init, headers })).json() as Promise<Json>
}
const JSON_BODY = { 'content-type': 'application/json' }
const post = (path: string, body: Json) => call(path, { method: 'POST', body: JSON.stringify(body) })

test.each([
  ['a PDF', 'a.pdf', async () => pdf('It is on page 42.'), 'It is on page 42.'],
  ['a Word document', 'a.docx', () => docx('It is on page 42.'), 'It is on page 42.'],
  ['an HTML document', 'a.html', async () => '<h1>Page <b>42</b></h1>', '# Page **42**'],
])('executable: reads %s', async (_, name, content, text) => {
  const form = new FormData()
  form.set('file', new File([await content()], name))
  const { _id: file_id } = await call('/v2/files', { method: 'POST', body: form })
  const { _id: base } = await post('/v2/knowledge', { key: `base-${name.replace('.', '-')}` })
  const { _id } = await post(`/v2/knowledge/${base}/datasources`, { file_id })
  const at = `/v2/knowledge/${base}/datasources/${_id}`
  let source = await call(at)
  while (['queued', 'processing'].includes(String(source.status))) source = await call(at)
  expect([source.status, source.error]).toEqual(['completed', undefined])
  expect(await call(`${at}/chunks`)).toMatchObject({ data: [{ text }] })
})

test('executable: answers a completion of tokens in the older vocabulary', async () => {
  const answer = await post('/v1/completions', {
    model: 'openai/gpt-3.5-turbo-instruct',
    prompt: [9906, 1917],
    echo: true,
  })
  expect(answer).toMatchObject({ choices: [{ text: expect.stringMatching(/^Hello world/) }] })
})

test('executable: adds at most 35 MB to its runtime', () => {
  expect(statSync(EXECUTABLE).size - statSync(process.execPath).size).toBeLessThan(35e6)
})
