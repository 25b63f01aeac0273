// A strict client of knowledge bases, their datasources and chunks: what clients write themselves is found, counted, deleted.

import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { strictClient } from '../support/strict-client.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { call, remove, send } = strictClient(app)
const paramOf = (answer: { json(): Json }) => (answer.json().error as Json).param
const refused = async (method: string, path: string, body: unknown) => {
  const answer = await send(method, path, body)
  return [answer.status, paramOf(answer)]
}

let bases = 0
const base = async (fields: Json = {}) => {
  const body = { type: 'internal', key: `base-${++bases}`, embedding_model: 'openai/text-embedding-3-large', ...fields }
  return call('knowledgeBase', ['POST', '/v2/knowledge'], { body: { path: 'Default', ...body } })
}
const external = (fields: Json = {}) => ({
  type: 'external',
  key: `wiki-${++bases}`,
  external_config: { name: 'Wiki', api_url: 'https://wiki.example/search', api_key: 'very secret' },
  ...fields,
})

describe('knowledge bases for strict clients', () => {
  test('have model, project and retrieval settings when internal', async () => {
    const made = await base({ retrieval_settings: { top_k: 2, rerank_config: null } })
    expect(made).toMatchObject({
      type: 'internal',
      model: 'openai/text-embedding-3-large',
      retrieval_settings: { retrieval_type: 'hybrid_search', top_k: 2, threshold: 0 },
    })
    const patch = { description: 'Pages.', embedding_model: 'openai/text-embedding-3-small' }
    const at = `/v2/knowledge/${made._id}`
    expect(await call('knowledgeBase', ['PATCH', at], { body: patch })).toMatchObject({
      model: patch.embedding_model,
      description: 'Pages.',
      domain_id: made.domain_id,
    })
    expect(await refused('PATCH', at, { type: 'external' })).toEqual([400, 'type'])
    expect(await refused('PATCH', at, { external_config: external().external_config })).toEqual([
      400,
      'external_config',
    ])
    expect(await refused('POST', '/v2/knowledge', { type: 'internal', key: 'x', embedding_model: 'ada' })).toEqual([
      400,
      'embedding_model',
    ])
    await remove(at)
  })

  test('are stored without their key and not called when external', async () => {
    const body = external()
    const made = await call('knowledgeBase', ['POST', '/v2/knowledge'], { body })
    const at = `/v2/knowledge/${body.key}`
    expect(await call('knowledgeBase', ['GET', at])).toMatchObject({ _id: made._id, type: 'external' })
    expect(await call('knowledgeBase', ['PATCH', at], { body: { description: 'Ours' } })).toMatchObject({
      description: 'Ours',
      external_config: { name: 'Wiki', api_url: 'https://wiki.example/search' },
    })
    expect((await app.fetch('/_understudy/snapshot')).text).not.toContain('very secret')
    expect(await refused('POST', `${at}/search`, { query: 'x' })).toEqual([400, 'knowledge_id'])
    expect(await refused('POST', `${at}/datasources`, { display_name: 'x' })).toEqual([400, 'knowledge_id'])
    expect(await refused('PATCH', at, { embedding_model: 'openai/text-embedding-3-small' })).toEqual([
      400,
      'embedding_model',
    ])
    const chat = await app.post('/v2/router/chat/completions', {
      model: 'openai/gpt-4o',
      messages: [{ role: 'user', content: 'x' }],
      svc: { knowledge_bases: [{ knowledge_id: body.key }] },
    })
    expect([chat.status, paramOf(chat)]).toEqual([400, 'svc.knowledge_bases[0].knowledge_id'])
    expect(await refused('POST', '/v2/knowledge', external({ external_config: { name: 'x' } }))).toEqual([
      400,
      'external_config.api_url',
    ])
    expect((await call('knowledgeBases', ['GET', '/v2/knowledge'])).data.length).toBeGreaterThan(0)
  })
})

const TEXTS = [
  { text: 'Returns are free within 30 days.', metadata: { topic: 'returns', days: 30 } },
  { text: 'Parcels take three days to arrive.', metadata: { topic: 'shipping', express: false } },
  { text: 'Gift cards never expire.', embedding: [0.5, 0.25] },
]
const datasource = async (fields: Json = {}) => {
  const { _id, key } = await base(fields)
  const made = await call('datasource', ['POST', `/v2/knowledge/${_id}/datasources`], { body: { display_name: 'Own' } })
  return { knowledge: `/v2/knowledge/${key}`, at: `/v2/knowledge/${_id}/datasources/${made._id}` }
}
const texts = (found: { data: { text: string }[] }) => found.data.map(({ text }) => text)

describe('chunks written by clients', () => {
  test('are created in order, counted, listed, found by text and page, changed and deleted', async () => {
    const { at } = await datasource()
    const chunks = `${at}/chunks`
    const made = await call('newChunks', ['POST', chunks], { body: TEXTS })
    expect(made.map(({ text }) => text)).toEqual(TEXTS.map(({ text }) => text))
    expect(made[0]).toMatchObject({ enabled: true, status: 'completed', metadata: { topic: 'returns', days: 30 } })
    expect(await call('datasource', ['GET', at])).toMatchObject({ status: 'completed', chunks_count: 3 })
    expect(texts(await call('chunks', ['GET', `${chunks}?q=PARCELS&status=completed`]))).toEqual([
      TEXTS[1]?.text as string,
    ])
    expect((await call('chunks', ['GET', `${chunks}?status=failed,pending&status=queued`])).data).toEqual([])
    expect(await refused('GET', `${chunks}?status=broken`, undefined)).toEqual([400, 'status[0]'])
    const page = await call('chunks', ['POST', `${chunks}/list`], { body: { limit: 2, page: 1 } })
    expect([texts(page), page.has_more]).toEqual([TEXTS.slice(0, 2).map(({ text }) => text), true])
    const last = await call('chunks', ['POST', `${chunks}/list`], { body: { limit: 2, page: 2, enabled: true } })
    expect([texts(last), last.has_more]).toEqual([[TEXTS[2]?.text as string], false])
    const count = (body: Json) => call('chunkCount', ['POST', `${chunks}/count`], { body })
    expect([await count({}), await count({ q: 'days' }), await count({ enabled: false })]).toEqual([
      { count: 3 },
      { count: 2 },
      { count: 0 },
    ])
    const one = `${chunks}/${made[0]?._id}`
    const changed = await call('chunk', ['PATCH', one], {
      body: { text: 'Nothing comes back.', metadata: { a: true } },
    })
    expect(changed).toMatchObject({ text: 'Nothing comes back.', metadata: { a: true } })
    expect(await call('chunk', ['GET', one])).toEqual(changed)
    await remove(one)
    const ids = [made[1]?._id, made[0]?._id, 'nobody']
    expect(await call('chunksDeleted', ['DELETE', chunks], { body: { chunk_ids: ids } })).toEqual({
      deleted_count: 1,
      failed_ids: [made[0]?._id as string, 'nobody'],
    })
    expect(await call('datasource', ['GET', at])).toMatchObject({ chunks_count: 1 })
    expect(await refused('POST', chunks, { text: 'alone' })).toEqual([400, null])
    expect(await refused('POST', chunks, [{ text: 'a' }, { text: '' }])).toEqual([400, '[1].text'])
    expect(await refused('POST', chunks, [{ text: 'a', metadata: { deep: {} } }])).toEqual([400, '[0].metadata.deep'])
    expect((await call('datasource', ['GET', at])).chunks_count).toBe(1)
    await remove(at)
  })

  test('are found by words, metadata and new text, with the options of the call', async () => {
    const { knowledge, at } = await datasource({ retrieval_settings: { top_k: 1 } })
    const made = await call('newChunks', ['POST', `${at}/chunks`], { body: TEXTS })
    const search = async (body: Json) =>
      (await call('matches', ['POST', `${knowledge}/search`], { body: { search_type: 'hybrid_search', ...body } }))
        .matches
    const found = async (body: Json) => (await search(body)).map(({ text }) => text)
    expect(await search({ query: 'free returns' })).toMatchObject([
      { id: made[0]?._id, metadata: { topic: 'returns' }, scores: { search_score: expect.any(Number) } },
    ])
    const days = { query: 'days', search_type: 'keyword_search', top_k: 5 }
    const all = [TEXTS[0]?.text as string, TEXTS[1]?.text as string]
    const filters: [Json, string[]][] = [
      [{ topic: { eq: 'shipping' } }, all.slice(1)],
      [{ topic: { ne: 'shipping' } }, all.slice(0, 1)],
      [{ days: { gte: 30, lt: 31 } }, all.slice(0, 1)],
      [{ days: { exists: false } }, all.slice(1)],
      [{ express: { in: [false] } }, all.slice(1)],
      [{ topic: { nin: ['shipping', 'returns'] } }, []],
      [{ or: [{ topic: { eq: 'returns' } }, { express: { eq: false } }] }, all],
      [{ and: [{ topic: { exists: true } }, { days: { gt: 1 } }] }, all.slice(0, 1)],
      [{ nobody: { eq: 1 } }, []],
      [{ constructor: { exists: true } }, []],
    ]
    for (const [filter_by, expected] of filters)
      expect([filter_by, (await found({ ...days, filter_by })).toSorted()]).toEqual([filter_by, expected.toSorted()])
    expect(await refused('POST', `${knowledge}/search`, { query: 'x', filter_by: { topic: { like: 'x' } } })).toEqual([
      400,
      'filter_by.topic.like',
    ])
    const options = { include_vectors: true, include_metadata: false, include_scores: false }
    const [bare] = await search({ query: 'gift cards', search_options: options })
    expect(bare).toMatchObject({ text: 'Gift cards never expire.', vector: [0.5, 0.25] })
    expect(bare).not.toHaveProperty('scores')
    const [own] = await search({ query: 'free returns', search_options: options })
    expect(own?.vector).toHaveLength(256)
    const reranked = await search({ ...days, rerank_config: { model: 'cohere/rerank-v3.5', top_k: 1 } })
    expect(reranked).toMatchObject([{ scores: { rerank_score: expect.any(Number) } }])
    await call('chunk', ['PATCH', `${at}/chunks/${made[0]?._id}`], { body: { text: 'Whales sing.' } })
    expect(await found({ query: 'whales', search_type: 'keyword_search' })).toEqual(['Whales sing.'])
    expect(await found({ query: 'returns', search_type: 'keyword_search' })).toEqual([])
    await remove(`${at}/chunks/${made[0]?._id}`)
    expect(await found({ query: 'whales', search_type: 'keyword_search' })).toEqual([])
  })

  test('follow those of a file, and wait while it is chunked', async () => {
    const { _id } = await base()
    const form = new FormData()
    form.set('file', new File(['# Returns\n\nWithin 30 days.'], 'returns.md'))
    form.set('purpose', 'knowledge_datasource')
    const { _id: file_id } = await call('file', ['POST', '/v2/files'], { body: form })
    const path = `/v2/knowledge/${_id}/datasources`
    const made = await call('datasource', ['POST', path], { body: { file_id } })
    expect(await refused('POST', `${path}/${made._id}/chunks`, [{ text: 'x' }])).toEqual([409, 'datasource_id'])
    const { clock } = app.understudy.sessions.get('default')
    while ((await call('datasource', ['GET', `${path}/${made._id}`])).status !== 'completed') await clock.sleep(10)
    await call('newChunks', ['POST', `${path}/${made._id}/chunks`], { body: [{ text: 'And more.' }] })
    expect(texts(await call('chunks', ['GET', `${path}/${made._id}/chunks`]))).toEqual([
      'And more.',
      '# Returns\n\nWithin 30 days.',
    ])
  })

  test('belong to datasources found by name and status, and not to those of another parent', async () => {
    const one = await datasource()
    const two = await datasource()
    const list = one.at.replace(/\/[^/]+$/, '')
    for (const display_name of ['Returns', 'Refunds', 'Shipping'])
      await call('datasource', ['POST', list], { body: { display_name } })
    const found = await call('datasources', ['GET', `${list}?q=ur&status=pending&status=completed`])
    expect(found.data.map(({ display_name }) => display_name)).toEqual(['Returns'])
    const [made] = await call('newChunks', ['POST', `${one.at}/chunks`], { body: [{ text: 'x' }] })
    for (const path of [`${two.at}/chunks/${made?._id}`, one.at.replace(/knowledge\/[^/]+/, two.knowledge.slice(4))])
      expect((await send('GET', path, undefined)).status).toBe(404)
    const strange = await send('DELETE', `${two.at}/chunks`, { chunk_ids: [made?._id] })
    expect(strange.json()).toEqual({ deleted_count: 0, failed_ids: [made?._id] })
  })
})
