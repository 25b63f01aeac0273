// Retrieval in the router: what a call's knowledge bases contain is put before its messages, and in its trace.
import { afterAll, describe, expect, test } from 'bun:test'
import { type Answer, createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'

const CHAT = '/v2/router/chat/completions'
const MODEL = 'openai/gpt-4o'
const folder = emptyFolder()
const FACTS = {
  parcels: 'Parcels take three days to arrive in Germany.',
  returns: 'You can return anything within thirty days.',
  gifts: 'Gift cards are refunded with a new gift card.',
}
await Bun.write(`${folder.path}/docs/shop.md`, Object.values(FACTS).join('\n\n'))
await Bun.write(`${folder.path}/docs/hours.txt`, 'The shop opens at nine. Parcels are handed out until six.')
await Bun.write(
  `${folder.path}/seed.yaml`,
  `knowledge:
  - key: help
    documents:
      - file: docs/shop.md
        display_name: Shop
        chunking_options: { chunking_configuration: { type: advanced, chunk_max_characters: 60 } }
      - { file: docs/hours.txt, display_name: Hours }
  - { key: empty }
`,
)
await Bun.write(
  `${folder.path}/chat.completions/known.yaml`,
  `match: { system: { regex: 'three days', ignore_case: true } }
reply: { content: 'The context says three days.' }
`,
)
const settings = { seed_file: [`${folder.path}/seed.yaml`], fixtures: [`${folder.path}/chat.completions/known.yaml`] }
const app = createTestApp(settings)
afterAll(() => {
  app.close()
  folder.remove()
})

const QUESTION = 'How long do parcels take?'
interface Base {
  knowledge_id: string
  [field: string]: unknown
}
const call = (bases: Base[], { stream = false, path = CHAT, say = QUESTION } = {}): Promise<Answer> => {
  const asked = { messages: [{ role: 'user', content: say }] }
  const words: Record<string, object> = {
    '/v2/router/completions': { prompt: say },
    '/v2/router/responses': { input: say },
  }
  return app.post(path, { model: MODEL, ...(words[path] ?? asked), stream, svc: { knowledge_bases: bases } })
}
/** The only retrieval of a call. */
const retrievalOf = async (answer: Answer) => {
  const { retrievals } = await app.traceOf(answer)
  expect(retrievals).toHaveLength(1)
  return retrievals[0] as (typeof retrievals)[number]
}
const textsOf = async (base: Base, say = QUESTION) =>
  (await retrievalOf(await call([base], { say }))).chunks.map(({ text }) => text)

const FORMS = [
  ['/v2/router/chat/completions', false],
  ['/v2/router/chat/completions', true],
  ['/v2/router/completions', false],
  ['/v2/router/completions', true],
  ['/v2/router/responses', false],
  ['/v2/router/responses', true],
] as const

describe.each(FORMS)('knowledge for %s, streamed: %p', (path, stream) => {
  test('is put before the input and recorded in the trace', async () => {
    const answer = await call([{ knowledge_id: 'help', top_k: 1 }], { path, stream })
    expect(answer.status).toBe(200)
    const trace = await app.traceOf(answer)
    expect(trace.retrievals).toMatchObject([
      {
        knowledge_id: 'help',
        search_type: 'hybrid_search',
        query: QUESTION,
        chunks: [{ id: expect.stringMatching(/^[0-9A-Z]{26}$/), score: expect.any(Number), text: FACTS.parcels }],
      },
    ])
    const sent = JSON.stringify(trace.rendered)
    expect(sent.indexOf(FACTS.parcels)).toBeGreaterThan(0)
    expect(sent.indexOf(FACTS.parcels)).toBeLessThan(sent.indexOf(QUESTION))
    expect(JSON.stringify(trace.request)).not.toContain(FACTS.parcels)
    if (path === CHAT) expect(JSON.stringify(trace.response)).toContain('The context says three days.')
  })

  test('is rejected at its field before any model call when the knowledge base does not exist', async () => {
    const answer = await call([{ knowledge_id: 'help' }, { knowledge_id: 'nowhere' }], { path, stream })
    const error = errorOf(answer.text, 404)
    expect(error).toMatchObject({ code: 'knowledge_not_found', param: 'svc.knowledge_bases[1].knowledge_id' })
    expect(error.message).toContain('"nowhere"')
    expect(await app.traceOf(answer)).toMatchObject({ status: 404, attempts: [] })
  })

  test('changes nothing when nothing is found', async () => {
    const answer = await call([{ knowledge_id: 'empty' }], { path, stream })
    expect(answer.status).toBe(200)
    expect(await app.traceOf(answer)).toMatchObject({ rendered: null, retrievals: [{ chunks: [] }] })
  })
})

describe('knowledge search', () => {
  test.each(['vector_search', 'keyword_search', 'hybrid_search'])(
    'of the type %s finds the best chunk first, with scores of at most 1',
    async (search_type) => {
      const { chunks } = await retrievalOf(await call([{ knowledge_id: 'help', search_type }]))
      expect(chunks[0]?.text).toBe(FACTS.parcels)
      const scores = chunks.map(({ score }) => score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
      expect(scores.every((score) => score > 0 && score <= 1)).toBe(true)
    },
  )

  test('of both types scores by the mean of the two', async () => {
    const scoreOf = async (search_type: string) =>
      (await retrievalOf(await call([{ knowledge_id: 'help', search_type, top_k: 1 }]))).chunks[0]?.score ?? 0
    const [vector, words, both] = [
      await scoreOf('vector_search'),
      await scoreOf('keyword_search'),
      await scoreOf('hybrid_search'),
    ]
    expect(words).toBe(1)
    expect(both).toBeCloseTo((vector + words) / 2, 10)
  })

  test('finds shared words by keyword, and similar spellings by vector', async () => {
    const base = { knowledge_id: 'help', top_k: 1 }
    expect(await textsOf({ ...base, search_type: 'keyword_search' }, 'giftcards')).toEqual([])
    expect(await textsOf({ ...base, search_type: 'vector_search' }, 'giftcards')).toEqual([FACTS.gifts])
  })

  test('returns at most top_k chunks and none below the threshold', async () => {
    const all = await textsOf({ knowledge_id: 'help', top_k: 100 })
    expect(all.length).toBeGreaterThan(2)
    expect(await textsOf({ knowledge_id: 'help', top_k: 2 })).toEqual(all.slice(0, 2))
    const { chunks } = await retrievalOf(await call([{ knowledge_id: 'help', top_k: 100 }]))
    const threshold = chunks[1]?.score ?? 0
    expect(await textsOf({ knowledge_id: 'help', top_k: 100, threshold })).toEqual(all.slice(0, 2))
    expect(await textsOf({ knowledge_id: 'help', threshold: 1 })).toEqual([])
  })

  test('uses its own query when it has one', async () => {
    const answer = await call([{ knowledge_id: 'help', query: 'gift card refunded', top_k: 1 }])
    expect(await retrievalOf(answer)).toMatchObject({ query: 'gift card refunded', chunks: [{ text: FACTS.gifts }] })
  })

  test('in two knowledge bases puts both, each in its place in the trace', async () => {
    const answer = await call([
      { knowledge_id: 'help', top_k: 1 },
      { knowledge_id: 'help', query: 'opens at nine', top_k: 1 },
    ])
    const { retrievals, rendered } = await app.traceOf(answer)
    expect(retrievals.map(({ chunks }) => chunks[0]?.text)).toEqual([
      FACTS.parcels,
      expect.stringContaining('opens at nine'),
    ])
    expect(JSON.stringify(rendered)).toMatch(/three days.*opens at nine/)
  })

  test.each<[filter: object, count: number]>([
    [{ datasource: 'Hours' }, 1],
    [{ datasource: { ne: 'Hours' } }, 3],
    [{ datasource: { in: ['Hours', 'Shop'] } }, 4],
    [{ datasource: { nin: ['Hours', 'Shop'] } }, 0],
    [{ position: 0 }, 2],
    [{ position: { gte: 1, lt: 2 } }, 1],
    [{ position: { gt: 1 } }, 1],
    [{ position: { lte: 1 }, datasource: 'Shop' }, 2],
    [{ and: [{ datasource: 'Shop' }, { position: 2 }] }, 1],
    [{ or: [{ datasource: 'Hours' }, { position: 2 }] }, 2],
    [{ or: [] }, 0],
    [{ datasource_id: 'nobody' }, 0],
  ])('with filter_by %j finds %i', async (filter_by, count) => {
    const query = 'parcels shop return thirty days gift cards refunded'
    expect(await textsOf({ knowledge_id: 'help', top_k: 100, query, filter_by })).toHaveLength(count)
  })

  test.each<[field: string, value: unknown, param: string]>([
    ['top_k', 0, 'svc.knowledge_bases[0].top_k'],
    ['threshold', 2, 'svc.knowledge_bases[0].threshold'],
    ['search_type', 'guess', 'svc.knowledge_bases[0].search_type'],
    ['query', '', 'svc.knowledge_bases[0].query'],
    ['filter_by', { colour: [] }, 'svc.knowledge_bases[0].filter_by.colour'],
    ['filter_by', { position: { above: 3 } }, 'svc.knowledge_bases[0].filter_by.position.above'],
  ])('rejects %s %j', async (field, value, param) => {
    const answer = await call([{ knowledge_id: 'help', [field]: value }])
    expect(errorOf(answer.text, 400).param).toBe(param)
  })

  test('uses the settings of the knowledge base, unless the call has its own', async () => {
    const retrieval_settings = { retrieval_type: 'keyword_search', top_k: 1, threshold: 0.1 }
    const changed = await app.fetch('/v2/knowledge/help', {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ retrieval_settings }),
    })
    expect(changed.status).toBe(200)
    const base = { knowledge_id: 'help', query: 'gift cards' }
    expect(await retrievalOf(await call([base]))).toMatchObject({
      search_type: 'keyword_search',
      chunks: [{ score: 1, text: FACTS.gifts }],
    })
    const own = await retrievalOf(await call([{ ...base, search_type: 'vector_search', top_k: 2, threshold: 0 }]))
    expect(own).toMatchObject({ search_type: 'vector_search', chunks: [{ text: FACTS.gifts }, {}] })
  })

  test('finds the same by id and by key', async () => {
    const bases = (await app.fetch('/v2/knowledge')).json().data as { key: string; _id: string }[]
    const id = bases.find(({ key }) => key === 'help')?._id ?? ''
    expect(await textsOf({ knowledge_id: id })).toEqual(await textsOf({ knowledge_id: 'help' }))
  })
})

test('knowledge retrieval: finds what the workspace search finds', async () => {
  const bases = (await app.fetch('/v2/knowledge')).json().data as { key: string; _id: string }[]
  const id = bases.find(({ key }) => key === 'help')?._id
  const found = await app.post(`/v2/knowledge/${id}/search`, { query: QUESTION, filter_by: { datasource: 'Shop' } })
  const chunks = (found.json().matches as { text: string }[]).map(({ text }) => text)
  expect(chunks).toEqual(await textsOf({ knowledge_id: 'help', filter_by: { datasource: 'Shop' } }))
})

test('knowledge errors: name the field with the namespace', async () => {
  const acme = createTestApp({ ...settings, namespace: 'acme' })
  const messages = [{ role: 'user', content: 'Hi' }]
  const answer = await acme.post(CHAT, {
    model: MODEL,
    messages,
    acme: { knowledge_bases: [{ knowledge_id: 'nowhere' }] },
  })
  expect(errorOf(answer.text, 404).param).toBe('acme.knowledge_bases[0].knowledge_id')
  acme.close()
})

test('knowledge retrieval: is the same in a new process with the same seed', async () => {
  const again = createTestApp(settings)
  const asked = {
    model: MODEL,
    messages: [{ role: 'user', content: QUESTION }],
    svc: { knowledge_bases: [{ knowledge_id: 'help' }] },
  }
  const other = createTestApp(settings)
  const one = await again.traceOf(await again.post(CHAT, asked))
  const two = await other.traceOf(await other.post(CHAT, asked))
  expect(one.retrievals[0]?.chunks.length).toBeGreaterThan(2)
  expect(two).toEqual(one)
  again.close()
  other.close()
})
