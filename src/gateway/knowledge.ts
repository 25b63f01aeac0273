// Retrieval: adds what the call's knowledge bases contain about the user's message to the request.
import type { Operation } from '../contract/core/operation.ts'
import type { Call } from './call.ts'
import type { TraceRecorder } from './record/recording.ts'
import type { Settings } from './settings.ts'
import type { KnowledgeDirectory } from './types.ts'

interface RetrievalContext {
  operation: Operation
  settings: Settings
  call: Pick<Call, 'session' | 'caller' | 'signal'>
  recording: TraceRecorder
}

/** The request with the retrieved context; the same request when nothing was found. */
export async function retrieve(
  request: object,
  { operation, settings, call, recording }: RetrievalContext,
  knowledge: KnowledgeDirectory,
): Promise<object> {
  if (!operation.addContext) return request
  const { user } = operation.prompt(request)
  const texts: string[] = []
  for (const [index, base] of settings.knowledge.entries()) {
    const { query = user } = base
    const started_ms = recording.elapsed()
    const chunks = await knowledge.search(call, {
      ...base,
      query,
      param: `svc.knowledge_bases[${index}].knowledge_id`,
    })
    const duration_ms = recording.elapsed() - started_ms
    const { knowledge_id, search_type } = base
    recording.retrieval({ knowledge_id, search_type, query, chunks, started_ms, duration_ms })
    texts.push(...chunks.map(({ text }) => text))
  }
  if (texts.length === 0) return request
  return operation.addContext(request, texts.join('\n\n')) as object
}
