// What every router endpoint does before the gateway: session, body, validation.
import { ApiError } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import { parseRequest } from '../contract/validation.ts'
import { type Gateway, handle } from '../gateway/handle.ts'
import type { Session } from '../sessions/sessions.ts'

/** The body of a request as text; 413 when it is larger than `maxBody` bytes. */
export async function readBody(request: Request, maxBody: number): Promise<string> {
  const tooLarge = () => new ApiError(413, 'request_too_large', `the body is larger than ${maxBody} bytes (--max-body)`)
  const declared = request.headers.get('content-length')
  if (declared !== null) {
    if (Number(declared) > maxBody) throw tooLarge()
    return request.text()
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBody) throw tooLarge()
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/** The JSON value of a body; 415 for another content type, 400 when it does not parse. */
export function parseJson(request: Request, text: string): unknown {
  const type = request.headers.get('content-type')
  if (type !== null && !JSON_TYPE.test(type)) {
    throw new ApiError(
      415,
      'unsupported_media_type',
      `content-type ${JSON.stringify(type)} is not supported; send application/json`,
    )
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiError(
      400,
      'invalid_json',
      `the body is not valid JSON: ${(error as Error).message.replace(/^JSON Parse error: /, '')}`,
    )
  }
}

/** Answers one request to a router operation. */
export async function serveOperation(
  operation: Operation,
  request: Request,
  session: Session,
  { gateway, maxBody }: { gateway: Gateway; maxBody: number },
): Promise<Response> {
  const text = await readBody(request, maxBody)
  const parsed = parseRequest(operation.request, parseJson(request, text))
  return handle({ operation, request: parsed, text, session, signal: request.signal }, gateway)
}
