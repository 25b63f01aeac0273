// What every router endpoint does before the gateway: body and validation.
import { ApiError } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import { parseRequest } from '../contract/validation.ts'
import { type Gateway, handle } from '../gateway/handle.ts'
import type { Session } from '../sessions/sessions.ts'
import { fromNamespace, toNamespace } from './namespace.ts'

/** What the endpoints are configured with. */
export interface EndpointDeps {
  gateway: Gateway
  /** Largest body in bytes. */
  maxBody: number
  /** What requests call the service options object. */
  namespace: string
}

/** Answers one request to a router operation. */
export async function serveOperation(
  operation: Operation,
  request: Request,
  session: Session,
  { gateway, maxBody, namespace }: EndpointDeps,
): Promise<Response> {
  const bytes = await readBody(request, maxBody)
  const type = request.headers.get('content-type')
  const { text, value } = operation.body === 'multipart' ? await readForm(bytes, type) : readJson(bytes, type)
  const parse = () => {
    try {
      return parseRequest(operation.request, fromNamespace(value(), namespace), { status: operation.invalidStatus })
    } catch (error) {
      throw error instanceof ApiError ? renamed(error, namespace) : error
    }
  }
  return handle({ operation, session, text, url: request.url, signal: request.signal, parse }, gateway)
}

/** The body of a request; 413 when it is larger than `maxBody` bytes. */
async function readBody(request: Request, maxBody: number): Promise<Uint8Array> {
  const tooLarge = () => new ApiError(413, 'request_too_large', `the body is larger than ${maxBody} bytes (--max-body)`)
  const declared = request.headers.get('content-length')
  if (declared !== null) {
    if (Number(declared) > maxBody) throw tooLarge()
    return request.bytes()
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBody) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** A body as the trace keeps it, and as a value once somebody asks: a mistake in it belongs to the recorded call. */
interface Body {
  text: string
  value(): unknown
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const unsupported = (type: string | null, wanted: string) =>
  new ApiError(415, 'unsupported_media_type', `content-type ${JSON.stringify(type)} is not supported; send ${wanted}`)

const decoder = new TextDecoder()
function readJson(bytes: Uint8Array, type: string | null): Body {
  const text = decoder.decode(bytes)
  if (type !== null && !JSON_TYPE.test(type)) throw unsupported(type, 'application/json')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    const reason = (error as Error).message.replace(/^JSON Parse error: /, '')
    const refused = new ApiError(400, 'invalid_json', `the body is not valid JSON: ${reason}`)
    const value = () => {
      throw refused
    }
    return { text: JSON.stringify(text), value }
  }
  const value = () => {
    if (deeperThan(DEEPEST, parsed)) {
      throw new ApiError(400, 'invalid_json', `the body is nested more than ${DEEPEST} levels deep`)
    }
    return parsed
  }
  return { text, value }
}

/** Levels of arrays and objects in a body: far more than anybody needs, far fewer than exhaust the stack. */
const DEEPEST = 500
const deeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => deeperThan(levels - 1, inner)))

async function readForm(bytes: Uint8Array, type: string | null): Promise<Body> {
  if (type === null || !/^multipart\/form-data\s*;/i.test(type)) throw unsupported(type, 'multipart/form-data')
  let entries: [string, string | File][]
  try {
    const form = await new Response(bytes.slice(), { headers: { 'content-type': type } }).formData()
    entries = [...form.entries()] as [string, string | File][]
  } catch {
    const refused = new ApiError(400, 'invalid_form', 'the body is not valid multipart/form-data')
    const value = () => {
      throw refused
    }
    return { text: 'null', value }
  }
  const fields: Record<string, unknown> = {}
  const described: Record<string, unknown> = {}
  for (const [name, value] of entries) {
    fields[name] = value
    described[name] = typeof value === 'string' ? value : { name: value.name, type: value.type, size: value.size }
  }
  return { text: JSON.stringify(described), value: () => fields }
}

/** The error in the words of the deployment. */
const renamed = (error: ApiError, namespace: string): ApiError =>
  new ApiError(error.status, error.code, toNamespace(error.message, namespace), {
    param: error.param && toNamespace(error.param, namespace),
    headers: error.headers,
  })
