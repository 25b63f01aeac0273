// What every router endpoint does before the gateway: body and validation.
import type { ConnectionFinder } from '../contract/connection.ts'
import { ApiError } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import { parseRequest } from '../contract/validation.ts'
import { handle } from '../gateway/handle.ts'
import type { Call, Gateway } from '../gateway/types.ts'
import type { Session } from '../sessions/sessions.ts'
import { describeFields, type FormOf, readFields, typedFields } from './form.ts'
import { fromNamespace, STANDARD_NAMESPACE, toNamespace } from './namespace.ts'

/** What the endpoints are configured with. */
export interface EndpointDeps {
  gateway: Gateway
  /** Largest body in bytes. */
  maxBody: number
  /** What requests call the service options object. */
  namespace: string
}

/** One request, in its session. */
interface Asked {
  request: Request
  session: Session
  caller: Call['caller']
  /** Finds its connection. */
  hold: ConnectionFinder | undefined
}

/** Answers one request to a router operation. */
export async function serveOperation(
  operation: Operation,
  { request, session, caller, hold }: Asked,
  { gateway, maxBody, namespace }: EndpointDeps,
): Promise<Response> {
  const bytes = await readBody(request, maxBody)
  const type = request.headers.get('content-type')
  const isForm = operation.body === 'multipart'
  const read = isForm ? await readForm(bytes, type, operation) : readJson(bytes, type)
  const retained = 'refused' in read || (operation.retains?.(read.value) ?? true)
  const parse = () => {
    if ('refused' in read) throw read.refused
    try {
      const body = fromNamespace(read.value, namespace)
      const typed = isForm ? typedFields(body as object, operation) : body
      return parseRequest(operation.request, typed, { status: operation.invalidStatus })
    } catch (error) {
      throw error instanceof ApiError ? renamed(error, namespace) : error
    }
  }
  const { url, headers, signal } = request
  try {
    return await handle(
      { operation, session, caller, text: read.text, retained, url, headers, signal, hold, parse },
      gateway,
    )
  } catch (error) {
    // What the gateway finds out later is still in standard words.
    const standard = error instanceof ApiError && error.param?.startsWith(`${STANDARD_NAMESPACE}.`)
    throw standard ? renamed(error, namespace) : error
  }
}

/** The body of a request; 413 when it is larger than `maxBody` bytes. */
export async function readBody(request: Request, maxBody: number): Promise<Uint8Array> {
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

/** A body as the trace keeps it, with its value or with what is wrong in it, which belongs to the recorded call. */
export type RequestBody = { text: string } & ({ value: unknown } | { refused: ApiError })

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const unsupported = (type: string | null, wanted: string) =>
  new ApiError(415, 'unsupported_media_type', `content-type ${JSON.stringify(type)} is not supported; send ${wanted}`)

const decoder = new TextDecoder()
/** A JSON body; 415 when its content type is another. */
export function readJson(bytes: Uint8Array, type: string | null): RequestBody {
  const text = decoder.decode(bytes)
  if (type !== null && !JSON_TYPE.test(type)) throw unsupported(type, 'application/json')
  // What cannot be read as JSON is kept as the text that it is.
  const refuse = (message: string): RequestBody => ({
    text: JSON.stringify(text),
    refused: new ApiError(400, 'invalid_json', message),
  })
  try {
    const value: unknown = JSON.parse(text)
    return deeperThan(DEEPEST, value) ? refuse(`the body is nested more than ${DEEPEST} levels deep`) : { text, value }
  } catch (error) {
    return refuse(`the body is not valid JSON: ${(error as Error).message.replace(/^JSON Parse error: /, '')}`)
  }
}

/** Levels of arrays and objects in a body: far more than anybody needs, far fewer than exhaust the stack. */
const DEEPEST = 500
const deeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => deeperThan(levels - 1, inner)))

/** A form, its fields as text or as `File`; 415 when its content type is another. */
export async function readForm(bytes: Uint8Array, type: string | null, operation: FormOf): Promise<RequestBody> {
  if (type === null || !/^multipart\/form-data\s*(?:;|$)/i.test(type)) throw unsupported(type, 'multipart/form-data')
  try {
    const fields = await readFields(bytes, type, operation)
    return { text: describeFields(fields), value: fields }
  } catch (error) {
    const message = `the body is not valid multipart/form-data: ${(error as Error).message}`
    return { text: 'null', refused: new ApiError(operation.invalidStatus ?? 400, 'invalid_form', message) }
  }
}

/** The error in the words of the deployment. */
const renamed = (error: ApiError, namespace: string): ApiError =>
  new ApiError(error.status, error.code, toNamespace(error.message, namespace), {
    param: error.param && toNamespace(error.param, namespace),
    headers: error.headers,
  })
