// Retrieval: what the call's knowledge bases have on the user's words is put before the messages.
import type { Operation } from '../contract/operation.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Recording } from './recorder.ts'
import type { Settings } from './settings.ts'

/** One chunk of a knowledge base that fits a query. */
export interface FoundChunk {
  id: string
  /** Higher is nearer, at most 1. */
  score: number
  text: string
}

/** How one knowledge base is searched. */
export type KnowledgeQuery = Settings['knowledge'][number] & { query: string; param: string }

/** Searches the knowledge bases of a session. */
export interface Knowledge {
  /** The nearest chunks, best first; refuses a knowledge base that does not exist. */
  search(session: Session, query: KnowledgeQuery): Promise<FoundChunk[]>
}

interface Retrieving {
  operation: Operation
  settings: Settings
  session: Session
  recording: Recording
}

/** The request with the context found for it; the request itself when it asks for none. */
export async function retrieve(
  request: object,
  { operation, settings, session, recording }: Retrieving,
  knowledge: Knowledge,
): Promise<object> {
  if (settings.knowledge.length === 0 || !operation.addContext) return request
  const { user } = operation.prompt(request)
  const texts: string[] = []
  for (const [index, base] of settings.knowledge.entries()) {
    const { query = user } = base
    const chunks = await knowledge.search(session, {
      ...base,
      query,
      param: `svc.knowledge_bases[${index}].knowledge_id`,
    })
    recording.retrieval({ knowledge_id: base.knowledge_id, search_type: base.search_type, query, chunks })
    texts.push(...chunks.map(({ text }) => text))
  }
  if (texts.length === 0) return request
  return operation.addContext(request, texts.join('\n\n')) as object
}
