// The body of a request, as far as its content type says what it is: bytes, JSON or a form.
import { ApiError } from '../contract/core/error.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { NestedTooDeep, parseInSlices, TooManyValues } from '../lib/json-reading.ts'
import { lazy } from '../lib/lazy.ts'
import { mayNestTooDeep, nestingProblem } from '../lib/nesting.ts'
import { isLarge } from '../lib/slices.ts'
import { type TimeoutErrors, within } from '../lib/timeout.ts'
import { halfCharacterIn, halfCharacterProblem, mayHoldHalf } from '../lib/well-formed.ts'
import { formatPath, quote } from '../schema/validation.ts'
import type { FormOf } from './form.ts'

/** How much is read, and how long it is waited for. */
export interface BodyLimits {
  /** Bytes. */
  maxBody: number
  /** Milliseconds, beside those that so many bytes may take. */
  clientTimeout: number
}
/** Slower than any connection that is of use: with it a body of any size has an end. */
const BYTES_PER_MS = 100

/**
 * The body of a request; 415 when it is compressed, 413 when it is larger than `maxBody` bytes, 408 when it does not
 * come to its end in time.
 * @throws ApiError 415, 413 or 408
 */
export function readBody(request: Request, { maxBody, clientTimeout }: BodyLimits): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && !/^(?:identity)?$/i.test(encoding)) {
    const message = `content-encoding ${quote(encoding)} is not supported; send the body uncompressed`
    throw new ApiError(415, 'unsupported_encoding', message)
  }
  // Said twice, it is no number.
  const length = Number.parseInt(request.headers.get('content-length') ?? '', 10)
  if (!Number.isNaN(length)) {
    if (length > maxBody) throw tooLarge(maxBody)
    return within(request.bytes(), clientTimeout + length / BYTES_PER_MS, NOT_READ)
  }
  return readPieces(request, { maxBody, clientTimeout })
}

/** A body whose length nobody has said. */
async function readPieces(request: Request, { maxBody, clientTimeout }: BodyLimits): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const began = realClock.now()
  const reader = request.body?.getReader()
  while (reader) {
    const left = began + clientTimeout + size / BYTES_PER_MS - realClock.now()
    const { done, value } = await within(reader.read(), left, NOT_READ)
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
  /** What becomes of a client that leaves in the middle, or of pieces that are none, is no bug of ours. */
  failed: () => new ApiError(400, 'incomplete_body', 'the body ended early'),
}

/** A body as the trace keeps it, with its value or with what is wrong in it, which belongs to the recorded call. */
export type RequestBody = { text: string } & ({ value: unknown } | { refused: ApiError })

// Most operations take none.
const forms = lazy<typeof import('./form.ts')>(() => require('./form.ts'))

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const unsupported = (type: string | null, wanted: string) =>
  new ApiError(415, 'unsupported_media_type', `content-type ${quote(type)} is not supported; send ${wanted}`)

const decoder = new TextDecoder()
/** A JSON body, read at once; 415 when its content type is another. */
function readJson(bytes: Uint8Array, type: string | null): RequestBody {
  const text = bodyText(bytes, type)
  const parsed = parsedJson(text)
  return 'value' in parsed ? (problemIn(text, parsed.value) ?? parsed) : parsed
}

/** Values of the body of a call, be they texts, numbers, lists or objects: 300,000 tokens may be embedded together. */
export const CALL_VALUES = 400_000
/** Values of any other body: 5,000 datapoints of 20 values each. */
export const RECORD_VALUES = 100_000

/** The same for one of any size; a large one is read in slices, and 400 when it has more values than `most`. */
export function readAnyJson(bytes: Uint8Array, type: string | null, most: number): RequestBody | Promise<RequestBody> {
  return isLarge(bytes) ? readLargeJson(bytes, type, most) : readJson(bytes, type)
}

async function readLargeJson(bytes: Uint8Array, type: string | null, most: number): Promise<RequestBody> {
  await nextTurn()
  const text = bodyText(bytes, type)
  try {
    const value = await parseInSlices(text, { most })
    await nextTurn()
    const half = mayHoldHalf(text) ? halfCharacter(value) : undefined
    return half ? refuse(text, half) : { text, value }
  } catch (error) {
    return refuse(text, refusalOf(error))
  }
}

function refusalOf(error: unknown): ApiError {
  if (error instanceof TooManyValues) return new ApiError(400, 'too_many_values', `the body ${error.message}`)
  if (error instanceof NestedTooDeep) return invalidJson(`the body ${error.message}`)
  if (error instanceof SyntaxError) return notJson(error)
  throw error
}

function bodyText(bytes: Uint8Array, type: string | null): string {
  const text = decoder.decode(bytes)
  if (type !== null && !JSON_TYPE.test(type)) throw unsupported(type, 'application/json')
  return text
}

/** What cannot be read as JSON is kept as the text that it is. */
const refuse = (text: string, error: ApiError): RequestBody => ({ text: JSON.stringify(text), refused: error })
const invalidJson = (message: string) => new ApiError(400, 'invalid_json', message)

const notJson = ({ message }: Error) =>
  invalidJson(`the body is not valid JSON: ${message.replace(/^JSON Parse error: /, '')}`)

function parsedJson(text: string): RequestBody {
  try {
    return { text, value: JSON.parse(text) }
  } catch (error) {
    return refuse(text, notJson(error as Error))
  }
}

/** What no body may be, whoever it is for. */
function problemIn(text: string, value: unknown): RequestBody | undefined {
  const nested = mayNestTooDeep(text) ? nestingProblem(value) : undefined
  if (nested) return refuse(text, invalidJson(`the body ${nested}`))
  const half = mayHoldHalf(text) ? halfCharacter(value) : undefined
  return half && refuse(text, half)
}

/**
 * A form, its fields as text or as `File`; 415 when its content type is another.
 * @throws ApiError 415
 */
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

/** What refuses a value that has half of a character in it, naming where; undefined when it has none. */
function halfCharacter(value: unknown): ApiError | undefined {
  const found = halfCharacterIn(value)
  if (!found) return undefined
  const param = formatPath(found.path)
  const message = `${param === '' ? 'the body' : `'${param}'`} ${halfCharacterProblem(found.half)}`
  return new ApiError(400, 'invalid_text', message, { param: param === '' ? null : param })
}
