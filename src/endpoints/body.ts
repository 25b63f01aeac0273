// Reads the body of a request as its content type requires: as bytes, JSON or a form.
import { ApiError } from '../contract/core/error.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { parseInSlices, TooManyValues } from '../lib/json-reading.ts'
import { lazy } from '../lib/lazy.ts'
import { NestedTooDeep, parseNested } from '../lib/nesting.ts'
import { isLarge } from '../lib/slices.ts'
import { type TimeoutErrors, within } from '../lib/timeout.ts'
import { mayHoldHalf } from '../lib/well-formed.ts'
import { halfCharacterError, quote } from '../schema/validation.ts'
import type { FormOf } from './form.ts'

/** The limits for reading a body. */
export interface BodyLimits {
  /** Maximum size in bytes. */
  maxBody: number
  /** Timeout in ms, in addition to the time that the announced size allows. */
  clientTimeout: number
}
/** Minimum speed of a client, below that of any usable connection. It bounds the time for a body of any size. */
const BYTES_PER_MS = 100

/**
 * The body of a request. Throws 415 when it is compressed, 413 when it is larger than `maxBody` bytes, 408 when it does
 * not arrive in time.
 */
export function readBody(request: Request, { maxBody, clientTimeout }: BodyLimits): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && !/^(?:identity)?$/i.test(encoding)) {
    const message = `content-encoding ${quote(encoding)} is not supported; send the body uncompressed`
    throw new ApiError(415, 'unsupported_encoding', message)
  }
  // A repeated header is not a number.
  const length = Number.parseInt(request.headers.get('content-length') ?? '', 10)
  if (!Number.isNaN(length)) {
    if (length > maxBody) throw tooLarge(maxBody)
    return within(request.bytes(), clientTimeout + length / BYTES_PER_MS, NOT_READ)
  }
  return readPieces(request, { maxBody, clientTimeout })
}

/** Reads a body of unknown length. */
async function readPieces(request: Request, { maxBody, clientTimeout }: BodyLimits): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const began = realClock.now()
  const reader = request.body?.getReader()
  while (reader) {
    const remaining = began + clientTimeout + size / BYTES_PER_MS - realClock.now()
    const { done, value } = await within(reader.read(), remaining, NOT_READ)
    if (done) break
    size += value.byteLength
    if (size > maxBody) throw tooLarge(maxBody)
    chunks.push(value)
  }
  return Buffer.concat(chunks)
}

const tooLarge = (maxBody: number) =>
  new ApiError(413, 'request_too_large', `the body is larger than ${maxBody} bytes (--max-body)`)

const NOT_READ: TimeoutErrors = {
  late: () =>
    new ApiError(408, 'request_timeout', 'the body did not arrive in time (--client-timeout)', {
      headers: { connection: 'close' },
    }),
  /** A client that disconnects or sends malformed chunks is not a bug of the server. */
  failed: () => new ApiError(400, 'incomplete_body', 'the body ended early'),
}

/** A body as text for the trace, with its parsed value, or with the error that the recorded call ends with. */
export type RequestBody = { text: string } & ({ value: unknown } | { refused: ApiError })

// Loaded late, since most operations accept no forms.
const forms = lazy<typeof import('./form.ts')>(() => require('./form.ts'))

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const unsupported = (type: string | null, expected: string) =>
  new ApiError(415, 'unsupported_media_type', `content-type ${quote(type)} is not supported; send ${expected}`)

const decoder = new TextDecoder()
function readSmallJson(bytes: Uint8Array, type: string | null): RequestBody {
  const text = bodyText(bytes, type)
  try {
    return wholeBody(text, parseNested(text))
  } catch (error) {
    return rejected(text, toBodyError(error))
  }
}

function wholeBody(text: string, value: unknown): RequestBody {
  const half = mayHoldHalf(text) ? halfCharacterError(value) : undefined
  return half ? rejected(text, half) : { text, value }
}

/**
 * Maximum number of values in the body of a call (texts, numbers, lists, objects): an embeddings call may have 300,000
 * tokens.
 */
export const CALL_VALUES = 400_000
/** Maximum number of values in any other body: 5,000 datapoints of 20 values each. */
export const RECORD_VALUES = 100_000

/**
 * Reads a JSON body, a large one in slices; 400 when that has more than `maxValues` values. Throws 415 for another
 * content type.
 */
export const readJson = (
  bytes: Uint8Array,
  type: string | null,
  maxValues: number,
): RequestBody | Promise<RequestBody> =>
  isLarge(bytes) ? readLargeJson(bytes, type, maxValues) : readSmallJson(bytes, type)

async function readLargeJson(bytes: Uint8Array, type: string | null, maxValues: number): Promise<RequestBody> {
  await nextTurn()
  const text = bodyText(bytes, type)
  try {
    const value = await parseInSlices(text, { most: maxValues })
    await nextTurn()
    return wholeBody(text, value)
  } catch (error) {
    return rejected(text, toBodyError(error))
  }
}

function toBodyError(error: unknown): ApiError {
  if (error instanceof TooManyValues) return new ApiError(400, 'too_many_values', `the body ${error.message}`)
  if (error instanceof NestedTooDeep) return invalidJson(`the body ${error.message}`)
  if (!(error instanceof SyntaxError)) throw error
  return invalidJson(`the body is not valid JSON: ${error.message.replace(/^JSON Parse error: /, '')}`)
}

function bodyText(bytes: Uint8Array, type: string | null): string {
  const text = decoder.decode(bytes)
  if (type !== null && !JSON_TYPE.test(type)) throw unsupported(type, 'application/json')
  return text
}

/** A body that is not JSON is kept as text. */
const rejected = (text: string, error: ApiError): RequestBody => ({ text: JSON.stringify(text), refused: error })
const invalidJson = (message: string) => new ApiError(400, 'invalid_json', message)

/** Reads a form; its fields are texts or `File`s. Throws 415 for another content type. */
export async function readForm(bytes: Uint8Array, type: string | null, operation: FormOf): Promise<RequestBody> {
  if (type === null || !/^multipart\/form-data\s*(?:;|$)/i.test(type)) throw unsupported(type, 'multipart/form-data')
  try {
    const { describeFields, readFields } = forms()
    const fields = await readFields(bytes, type, operation)
    return { text: describeFields(fields), value: fields }
  } catch (error) {
    const message = `the body is not valid multipart/form-data: ${(error as Error).message}`
    return { text: 'null', refused: new ApiError(operation.invalidStatus ?? 400, 'invalid_form', message) }
  }
}
