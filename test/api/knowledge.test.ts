// Knowledge: files become datasources, datasources chunks, and chunks are found.

import { afterAll, describe, expect, test } from 'bun:test'
import { CLEAN_UPS, chunkText, cleaned } from '../../src/lib/chunking.ts'
import { createTestApp } from '../support/app.ts'
import { docx, pdf } from '../support/documents.ts'
import { strict } from '../support/strict/workspace.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { ok, call } = workspaceOf(app)
const data = (body: Json) => body.data as Json[]
const matches = (body: Json) => body.matches as Json[]
const { clock } = app.understudy.sessions.get('default')

const upload = async (name: string, content: string | Uint8Array<ArrayBuffer>, type = '') => {
  const body = new FormData()
  body.set('file', new File([content], name, { type }))
  return (await app.fetch('/v2/files', { method: 'POST', body })).json()
}
let bases = 0
const base = async () => `/v2/knowledge/${(await ok('POST', '/v2/knowledge', { key: `base-${++bases}` }))._id}`
/** A datasource once nothing more happens to it. */
async function datasourceOf(at: string, body: Json): Promise<Json> {
  const made = strict.datasource?.parse(await ok('POST', `${at}/datasources`, body)) as Json
  for (;;) {
    const now = strict.datasource?.parse(await ok('GET', `${at}/datasources/${made._id}`)) as Json
    if (!['queued', 'processing'].includes(String(now.status))) return now
    await clock.sleep(10)
  }
}
const textsOf = async (at: string, { _id }: Json) =>
  data(await ok('GET', `${at}/datasources/${_id}/chunks?limit=50`))
    .map(({ text }) => text)
    .reverse()

const HELP = '# Returns\n\nYou can send things back within 30 days.\n\n# Shipping\n\nParcels take three days to arrive.'

describe('knowledge files', () => {
  test('are returned byte for byte, never as a page', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const file = await upload('all.png', bytes)
    expect(file).toMatchObject({ file_name: 'all.png', content_type: 'image/png', bytes: 256 })
    const response = await app.understudy.app.fetch(
      new Request(`http://localhost/v2/files/${file._id}/content`, { headers: { authorization: 'Bearer any' } }),
    )
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes)
    expect(response.headers.get('content-disposition')).toBe('attachment')
    await ok('DELETE', `/v2/files/${file._id}`)
    expect((await call('GET', `/v2/files/${file._id}/content`)).status).toBe(404)
  })
  test('are rejected without a form or without a file', async () => {
    const body = new FormData()
    body.set('purpose', 'retrieval')
    const answer = await app.fetch('/v2/files', { method: 'POST', body })
    expect([answer.status, (answer.json().error as Json).param]).toEqual([400, 'file'])
    expect((await call('POST', '/v2/files', {})).status).toBe(415)
  })
})

const SAID = 'Parcels take three days'
const WORD = await docx(SAID)

describe('datasources', () => {
  test("with a file are queued, then completed with the right number of chunks and the file's name", async () => {
    const at = await base()
    const { _id: file_id } = await upload('help.md', HELP)
    const queued = await ok('POST', `${at}/datasources`, { file_id })
    expect(queued).toMatchObject({ status: 'queued', display_name: 'help.md', chunks_count: 0, file_id })
    const chunking_options = { chunking_configuration: { type: 'advanced', chunk_max_characters: 60 } }
    const done = await datasourceOf(at, { file_id, display_name: 'Help', chunking_options })
    const texts = await textsOf(at, done)
    expect(done).toMatchObject({ status: 'completed', display_name: 'Help', chunks_count: texts.length })
    expect(texts).toEqual([
      '# Returns\n\nYou can send things back within 30 days.',
      '# Shipping\n\nParcels take three days to arrive.',
    ])
  })
  test('without a file wait for one, and a missing file is rejected, whatever the form of its id', async () => {
    const at = await base()
    expect(await datasourceOf(at, { display_name: 'Later' })).toMatchObject({ status: 'pending', chunks_count: 0 })
    for (const file_id of ['file_01JGFJJZ00ZZZZZZZZZZZZZZZZ', 'help.md', '']) {
      const unknown = await call('POST', `${at}/datasources`, { file_id })
      expect([unknown.status, (unknown.body.error as Json).param]).toEqual([404, 'file_id'])
    }
  })
  const refused: [Json, string][] = [
    [{ chunking_configuration: { type: 'clever' } }, 'chunking_options.chunking_configuration.type'],
    [
      { chunking_configuration: { type: 'advanced', chunk_max_characters: 0 } },
      'chunking_options.chunking_configuration.chunk_max_characters',
    ],
    [
      { chunking_configuration: { type: 'advanced', chunk_overlap: 500 } },
      'chunking_options.chunking_configuration.chunk_overlap',
    ],
    [{ chunking_cleanup_options: { delete_emails: 'yes' } }, 'chunking_options.chunking_cleanup_options.delete_emails'],
  ]
  test.each(refused)('reject %j at %s', async (chunking_options, param) => {
    const { status, body } = await call('POST', `${await base()}/datasources`, { chunking_options })
    expect([status, (body.error as Json).param]).toEqual([400, param])
  })

  const kinds: [string, string | Uint8Array<ArrayBuffer>, string][] = [
    ['a.txt', SAID, SAID],
    ['a.markdown', SAID, SAID],
    ['a.html', `<html><script>no()</script><body><p>${SAID}</p></body></html>`, SAID],
    ['a.csv', `topic,answer\nshipping,"${SAID}, or four"\n`, `topic: shipping\nanswer: ${SAID}, or four`],
    ['b.csv', 'a;a;"b;c"\r\n1;"x ""y""";2;3\r\n\r\n4', 'a: 1\na_1: x "y"\nb;c: 2\n__parsed_extra: ["3"]\n\na: 4'],
    ['a.json', JSON.stringify([{ answer: SAID }]), `answer: ${SAID}`],
    ['a.pdf', pdf(SAID), SAID],
    ['a.docx', WORD, SAID],
  ]
  test.each(kinds)('read %s', async (name, content, text) => {
    const at = await base()
    const { _id: file_id } = await upload(name, content)
    expect(await textsOf(at, await datasourceOf(at, { file_id }))).toEqual([text])
  })
  const broken: [string, string | Uint8Array<ArrayBuffer>, string][] = [
    ['a.pdf', 'no pdf', 'not a readable pdf'],
    ['a.docx', 'no zip', 'not a readable docx'],
    ['a.json', '{', 'not a readable json'],
    ['a.txt', Uint8Array.of(0xff, 0xfe, 0xfd), 'UTF-8'],
    ['a.txt', ' \n', 'no text'],
    ['a.xyz', 'x', 'not one of txt, md'],
  ]
  test.each(broken)('report %s with %p as failed, with the reason', async (name, content, why) => {
    const { _id: file_id } = await upload(name, content)
    const done = await datasourceOf(await base(), { file_id })
    expect(done).toMatchObject({ status: 'failed', chunks_count: 0, error: expect.stringContaining(why) })
  })

  test('have no error any more when chunks are added', async () => {
    const at = await base()
    const { _id: file_id } = await upload('a.txt', ' ')
    const { _id } = await datasourceOf(at, { file_id })
    await ok('POST', `${at}/datasources/${_id}/chunks`, [{ text: SAID }])
    const source = await ok('GET', `${at}/datasources/${_id}`)
    expect(source).toMatchObject({ status: 'completed', chunks_count: 1 })
    expect(source).not.toHaveProperty('error')
  })
})

describe('chunks', () => {
  test('stay within the size, overlap, and cover every word', async () => {
    const words = Array.from({ length: 300 }, (_, index) => `word${index}`)
    const made = chunkText(words.join(' '), { size: 100, overlap: 30 })
    for (const chunk of made) expect(chunk.length).toBeLessThanOrEqual(100)
    for (const word of words) expect(made.some((chunk) => chunk.split(' ').includes(word))).toBe(true)
    for (const [index, chunk] of made.slice(1).entries()) expect(made[index]).toContain(chunk.split(' ')[0] as string)
  })

  const cuts: [string, string, { size: number; overlap: number }, string[]][] = [
    [
      'between paragraphs',
      'one two\n\nthree\n\nfour five',
      { size: 16, overlap: 0 },
      ['one two\n\nthree', 'four five'],
    ],
    ['between lines', 'one two\nthree\nfour five', { size: 14, overlap: 0 }, ['one two\nthree', 'four five']],
    ['between words, with an overlap', 'aa bb cc dd ee', { size: 8, overlap: 4 }, ['aa bb cc', 'cc dd', 'dd ee']],
    ['inside a word that is too long', 'abcdefgh', { size: 3, overlap: 1 }, ['abc', 'cde', 'efg', 'gh']],
    ['between characters of two code units', '😀😀😀', { size: 2, overlap: 0 }, ['😀😀', '😀']],
    ['nowhere for an empty text', ' \n\n ', { size: 2, overlap: 0 }, []],
  ]
  test.each(cuts)('are cut %s', (_, text, lengths, chunks) => {
    expect(chunkText(text, lengths)).toEqual(chunks)
  })

  const cleanUps: [string, string, string][] = [
    ['delete_emails', 'Mail ada.l@shop.example now', 'Mail  now'],
    ['delete_credit_cards', 'Card 4111 1111 1111 1111, order 4111 1111 1111 1112', 'Card , order 4111 1111 1111 1112'],
    ['delete_phone_numbers', 'Call +49 30 1234567 before 2025-01-31', 'Call  before 2025-01-31'],
    ['clean_bullet_points', '• one\n- two\n* three', 'one\ntwo\nthree'],
    ['clean_numbered_list', '1. one\n2) two\na) three', 'one\ntwo\nthree'],
    ['clean_unicode', '“ﬁne”\u200b', '"fine"'],
    ['clean_dashes', 'a – b — c -- d', 'a - b - c - d'],
    ['clean_whitespaces', ' a  b\t c \n\n\n\n d ', 'a b c\n\nd'],
  ]
  test('support every clean-up', () => expect(cleanUps.map(([name]) => name)).toEqual(Object.keys(CLEAN_UPS)))
  test.each(cleanUps)('are cleaned by %s', async (name, text, expected) => {
    expect(cleaned(text, [name])).toBe(expected)
    expect(cleaned(text, [])).toBe(text)
    const at = await base()
    const { _id: file_id } = await upload('a.txt', `start ${text}`)
    const off = Object.fromEntries(Object.keys(CLEAN_UPS).map((other) => [other, other === name]))
    const one = await datasourceOf(at, { file_id, chunking_options: { chunking_cleanup_options: off } })
    expect((await textsOf(at, one)).join('\n\n')).toBe(cleaned(`start ${text}`, [name]).trim())
  })
})

describe('workspace knowledge search', () => {
  const filled = async () => {
    const at = await base()
    for (const [name, content] of [
      ['returns.md', 'You can send things back within 30 days.'],
      ['shipping.md', 'Parcels take three days to arrive.'],
    ] as const) {
      await datasourceOf(at, { file_id: (await upload(name, content))._id })
    }
    return at
  }
  const at = filled()
  const search = async (body: Json) => matches(await ok('POST', `${await at}/search`, body))
  test.each(['vector_search', 'keyword_search', 'hybrid_search'])(
    'by %s finds the relevant chunk, best first',
    async (search_type) => {
      const found = await search({ query: 'when do parcels arrive?', search_type })
      expect(found[0]).toMatchObject({ text: expect.stringContaining('Parcels') })
      const scores = found.map(({ scores }) => Number((scores as Json).search_score))
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
      for (const score of scores) expect(score).toBeWithin(0, 1.000001)
    },
  )
  test('respects top_k and threshold', async () => {
    expect(await search({ query: 'days', top_k: 1 })).toHaveLength(1)
    expect(await search({ query: 'days', top_k: 10 })).toHaveLength(2)
    expect(await search({ query: 'elephants', threshold: 0.9 })).toEqual([])
    expect(await search({ query: '"!?" OR *', search_type: 'keyword_search' })).toEqual([])
  })
  test('no longer finds deleted chunks', async () => {
    const own = await filled()
    const [newest] = data(await ok('GET', `${own}/datasources`))
    await ok('DELETE', `${own}/datasources/${newest?._id}`)
    const left = matches(await ok('POST', `${own}/search`, { query: 'days' }))
    expect(left).toHaveLength(1)
    await ok('DELETE', own)
    expect((await call('POST', `${own}/search`, { query: 'days' })).status).toBe(404)
  })
  test('finds the same through the gateway, by id and by key, and rejects a missing one', async () => {
    const id = (await at).split('/').at(-1)
    const { key } = await ok('GET', await at)
    const chat = (knowledge_id: unknown) => ({
      model: 'openai/gpt-4o',
      messages: [{ role: 'user', content: 'when do parcels arrive?' }],
      svc: { knowledge_bases: [{ knowledge_id, top_k: 1 }] },
    })
    for (const name of [id, key]) {
      const answer = await app.post('/v2/router/chat/completions', chat(name))
      expect(answer.status).toBe(200)
      const { retrievals } = await app.traceOf(answer)
      expect(retrievals).toMatchObject([{ chunks: [{ text: 'Parcels take three days to arrive.' }] }])
    }
    const missing = await call('POST', '/v2/router/chat/completions', chat('nowhere'))
    expect([missing.status, (missing.body.error as Json).param]).toEqual([404, 'svc.knowledge_bases[0].knowledge_id'])
  })
})
