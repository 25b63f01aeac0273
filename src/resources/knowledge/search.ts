// Search in knowledge bases by words, by vectors, or both, for clients and for the gateway.

import type { z } from 'zod'
import { vectorsOf } from '../../answers/vectors.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { Route } from '../../contract/core/route.ts'
import type { Condition, Conditions, FilterBy } from '../../contract/workspace/filter.ts'
import { type RetrievalSettings, SearchAnswer, SearchBody } from '../../contract/workspace/knowledge.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import type { Contents } from '../../db/content-store.ts'
import type { KnowledgeDirectory } from '../../gateway/types.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { JobOwner } from '../../workers/pool.ts'
import type { Transaction } from '../define.ts'
import { type ResourceDeps, recordRoute } from '../routes.ts'
import { datasources, knowledgeBases, rejectExternal } from './knowledge.ts'

type SearchRequest = z.infer<typeof SearchBody>
/** The parameters of a search. */
type Search = Pick<SearchRequest, 'query' | 'top_k' | 'threshold' | 'search_type' | 'filter_by'>

const TOP_K = 5
/** Maximum number of word matches: far more than any caller requests. */
const MAX_MATCHES = 1_000
const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Matching chunks, best first; equal ones in the order of creation. */
async function searchChunks(
  { contents, records }: Pick<Transaction, 'contents' | 'records'>,
  base: Fields,
  search: Search & JobOwner,
): Promise<FoundRecord[]> {
  const usual = base.retrieval_settings as RetrievalSettings | undefined
  const { query, filter_by: filter } = search
  const type = searchTypeOf(base, search)
  const { top_k = usual?.top_k ?? TOP_K, threshold = usual?.threshold ?? 0 } = search
  const knowledge = String(base._id)
  const words = wordsOf(query)
  const byWords =
    type === 'vector_search' || words.length === 0 ? new Map() : contents.byWords(knowledge, words, MAX_MATCHES)
  const byVector =
    type === 'keyword_search' ? new Map() : await nearTo(await vectorOf(query, search), knowledge, contents)
  // Both halves of a hybrid search have the same weight.
  const share = type === 'hybrid_search' ? 0.5 : 1
  const scores = [...new Set([...byWords.keys(), ...byVector.keys()])].map((seq: number) => ({
    seq,
    score: share * Math.max(0, byWords.get(seq) ?? 0) + share * Math.max(0, byVector.get(seq) ?? 0),
  }))
  return scores
    .filter(({ score }) => score > 0 && score >= threshold)
    .sort((a, b) => b.score - a.score || a.seq - b.seq)
    .values()
    .map(({ seq, score }) => ({ score: Math.min(1, score), chunk: contents.bySeq(seq) ?? {} }))
    .filter(
      ({ chunk }) => !filter || meets(filterable(chunk, { records, workspace: String(base.workspace_id) }), filter),
    )
    .take(top_k)
    .toArray()
}

const searchTypeOf = ({ retrieval_settings: usual }: Fields, { search_type }: Pick<Search, 'search_type'>) =>
  search_type ?? (usual as RetrievalSettings | undefined)?.retrieval_type ?? 'hybrid_search'

const vectorOf = async (text: string, owner: JobOwner): Promise<Float32Array> =>
  (await vectorsOf([text], owner))[0] ?? new Float32Array()

/** Chunks that are compared at once. */
const COMPARED = 1_000

/** Cosine similarities of all chunks of a knowledge base to a vector, by number. */
async function nearTo(vector: Float32Array, knowledge: string, contents: Contents): Promise<Map<number, number>> {
  const all = new Map<number, number>()
  for (let after = 0; ; ) {
    const some = contents.byVector(knowledge, vector, { after, limit: COMPARED })
    for (const [seq, score] of some) all.set(seq, score)
    if (some.length < COMPARED) return all
    after = some.at(-1)?.[0] ?? 0
    await nextTurn()
  }
}

const filterable = (
  { _id, datasource_id, position, metadata }: Fields,
  { records, workspace }: Pick<Transaction, 'records'> & { workspace: string },
): Filterable => ({
  ...(metadata as Filterable | undefined),
  chunk_id: String(_id),
  datasource_id: String(datasource_id),
  datasource: String(records.get(datasources.kind, workspace, String(datasource_id))?.body.display_name),
  position: Number(position),
})

/**
 * The knowledge bases of a workspace for the gateway, by id or key.
 * @throws ApiError 404 from its search for an unknown one
 */
export const knowledgeOf = (prepare: (session: Session) => Promise<void>): KnowledgeDirectory => ({
  async search({ session, caller, signal }, { knowledge_id, param, ...query }) {
    await prepare(session)
    const base = session.records.named(knowledgeBases.kind, caller().workspace, knowledge_id)
    if (!base) {
      const message = `Knowledge base not found: no knowledge base has the id or key ${JSON.stringify(knowledge_id)} in this workspace`
      throw new ApiError(404, 'knowledge_not_found', message, { param })
    }
    rejectExternal(base, param)
    const found = await searchChunks(session, base, { ...query, signal })
    const chunks = found.map(({ score, chunk }) => ({ id: String(chunk._id), score, text: String(chunk.text) }))
    return { search_type: searchTypeOf(base, query), chunks }
  },
})

/** The route of a search. */
export const searchRoute = (deps: ResourceDeps): Route =>
  recordRoute(knowledgeBases, deps, {
    method: 'post',
    path: '/v2/knowledge/:knowledge_id/search',
    summary: 'Search a knowledge base',
    description: 'The chunks that match a query, best first. Uses the same search as retrieval in the router.',
    operationId: 'searchKnowledgeBase',
    examples: { returns: { query: 'How long can I return things?', top_k: 3 } },
    body: SearchBody,
    response: SearchAnswer,
    async handle({ request, body, session, record: base }) {
      rejectExternal(base, 'knowledge_id')
      const found = await searchChunks(session, base, { ...body, signal: request.signal })
      return { matches: await Promise.all(ranked(found, body).map((one) => matchOf(one, body, request))) }
    },
  })

interface FoundRecord {
  score: number
  chunk: Fields
}

/** The reranked results: no model is called, so the scores stay. */
function ranked(found: readonly FoundRecord[], { rerank_config: rerank }: SearchRequest): readonly FoundRecord[] {
  const { threshold = 0, top_k } = rerank ?? {}
  return found.filter(({ score }) => score >= threshold).slice(0, top_k)
}

async function matchOf(
  { score, chunk }: FoundRecord,
  { search_options: options, rerank_config: rerank }: SearchRequest,
  owner: JobOwner,
) {
  const { _id, text, metadata, embedding } = chunk
  const vector = options.include_vectors && (embedding ?? [...(await vectorOf(String(text), owner))])
  return {
    id: _id,
    text,
    ...(vector && { vector }),
    ...(options.include_metadata && metadata !== undefined && { metadata }),
    ...(options.include_scores && { scores: { search_score: score, ...(rerank && { rerank_score: score }) } }),
  }
}

type Value = string | number | boolean
/** The fields that conditions apply to. */
type Filterable = Readonly<Record<string, Value>>

/** Whether a chunk meets all conditions of a filter. */
function meets(chunk: Filterable, { and = [], or, ...conditions }: FilterBy): boolean {
  const all = (some: Conditions) =>
    Object.entries(some).every(([field, condition]) =>
      holds(Object.hasOwn(chunk, field) ? chunk[field] : undefined, condition),
    )
  return all(conditions) && and.every(all) && (or === undefined || or.some(all))
}

/** Whether a condition holds for a value. For a missing value, only `exists: false` and inequalities hold. */
function holds(value: Value | undefined, condition: Condition): boolean {
  const operators: Exclude<Condition, Value> = typeof condition === 'object' ? condition : { eq: condition }
  const { ne, in: among, nin, exists } = operators
  const is = (limit: Value | undefined, test: (value: Value, limit: Value) => boolean) =>
    limit === undefined || (value !== undefined && test(value, limit))
  return (
    is(operators.eq, (one, limit) => one === limit) &&
    is(operators.gt, (one, limit) => one > limit) &&
    is(operators.gte, (one, limit) => one >= limit) &&
    is(operators.lt, (one, limit) => one < limit) &&
    is(operators.lte, (one, limit) => one <= limit) &&
    (ne === undefined || value !== ne) &&
    (among === undefined || (value !== undefined && among.includes(value))) &&
    (nin === undefined || value === undefined || !nin.includes(value)) &&
    (exists === undefined || (value !== undefined) === exists)
  )
}
