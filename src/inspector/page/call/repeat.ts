// A call as a command that makes it again.
import type { StoredTrace } from '../../../contract/trace.ts'

const PATHS: Record<string, string> = {
  'chat.completions': '/v2/router/chat/completions',
  completions: '/v2/router/completions',
  embeddings: '/v2/router/embeddings',
  responses: '/v2/router/responses',
  'images.generations': '/v2/router/images/generations',
  'audio.translations': '/v2/router/audio/translations',
  'audio.transcriptions': '/v2/router/audio/transcriptions',
  'audio.speech': '/v2/router/audio/speech',
  'images.edits': '/v2/router/images/edits',
  'images.variations': '/v2/router/images/variations',
  moderations: '/v2/router/moderations',
  rerank: '/v2/router/rerank',
}

/** The path of an operation, undefined for one that cannot be called again. */
export const pathOf = (operation: string): string | undefined => PATHS[operation]

/** Words of a shell as one argument. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The command; undefined for a call whose body is not JSON, or not known. */
export function curlOf(trace: StoredTrace, origin: string): string | undefined {
  const { operation, assumed, rendered, session } = trace
  const path = pathOf(operation)
  // That of another API is sent as it was understood.
  const request = assumed ? (rendered ?? trace.request) : trace.request
  if (!path || typeof request !== 'object' || request === null) return undefined
  const headers = [
    'content-type: application/json',
    'authorization: Bearer $UNDERSTUDY_TOKEN',
    ...(session === 'default' ? [] : [`x-understudy-session: ${session}`]),
  ]
  return [
    `curl ${origin}${path}`,
    ...headers.map((header) => `  -H ${header.includes('$') ? `"${header}"` : quoted(header)}`),
    `  -d ${quoted(JSON.stringify(request))}`,
  ].join(' \\\n')
}
