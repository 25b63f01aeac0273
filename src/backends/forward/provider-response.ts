// A provider's response within limits: decompressed even if compression was not requested, and without the key, in case
// the provider repeats it.
import { Readable, type Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { ConnectionFailure, Unreadable } from '../../contract/core/reply.ts'
import { streamOf, textOfBytes } from '../../lib/byte-stream.ts'
import { secretFormsOf } from '../../lib/secret-forms.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { type BodyObserver, type ChunkReader, maskedForms, type Received, SecretMask } from './transport.ts'

/** Maximum size of a decompressed response in bytes. */
export const MAX_RESPONSE = 64 * 2 ** 20

const SYNC = { flush: constants.Z_SYNC_FLUSH }
// Flushes at once, so that each event of a stream is passed on.
const UNPACKERS: Record<string, (first: Uint8Array) => Transform> = {
  gzip: () => createGunzip(SYNC),
  'x-gzip': () => createGunzip(SYNC),
  // With the zlib header, as the standard requires, or without it, as some servers send it.
  deflate: ([first = 0]) => ((first & 0x0f) === 8 ? createInflate(SYNC) : createInflateRaw(SYNC)),
  br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress({ flush: constants.ZSTD_e_flush }),
}
const MAX_ENCODINGS = 3

/** The body of a provider's response; reading throws `Unreadable` for errors of the provider. */
interface ProviderBody extends ChunkReader {
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined>
}

/** A provider's response that is safe to send to a client. */
export class ProviderResponse {
  readonly status: number
  /** The original headers, without the key. */
  readonly headers: Headers
  /** Announced size of the body; undefined when unknown or decompressed. */
  readonly length: number | undefined
  readonly body: ProviderBody | undefined

  constructor(status: number, headers: Headers, body?: ProviderBody, length?: number) {
    this.status = status
    this.headers = headers
    this.body = body
    this.length = length
  }

  text(): Promise<string> {
    return textOfBytes(this.body ?? NO_BYTES)
  }
}
const NO_BYTES = new Uint8Array()

/**
 * Applies limits to a response.
 * @param maxBytes maximum size of the decompressed body in bytes
 * @throws Unreadable when the announced size is larger, the compression is unknown, or the status is invalid
 */
export function bounded(
  upstream: Upstream,
  { status, headers: original, body, observer }: Received,
  maxBytes: number,
): ProviderResponse {
  const secrets = secretFormsOf(upstream.key)
  try {
    if (!isStatus(status))
      throw new Unreadable(`the response of ${upstream.name} has the status ${status}, which HTTP does not have`)
    const headers = maskedHeaders(original, secrets)
    if (!body) return new ProviderResponse(status, headers)
    const encodings = encodingsOf(upstream, original)
    const announced = original.get('content-length')
    const length = announced === null || encodings.length > 0 ? undefined : Number(announced)
    if (length !== undefined && length > maxBytes) throw tooLarge(upstream, maxBytes)
    const reader = body.getReader()
    let source: ChunkReader = reader
    if (encodings.length > 0) {
      let pieces = piecesOf(reader)
      for (const encoding of encodings) pieces = unpacked(pieces, { encoding, upstream, maxBytes })
      source = { read: () => pieces.next(), cancel: () => reader.cancel() }
    }
    return new ProviderResponse(
      status,
      headers,
      new BoundedReader(source, secrets, { upstream, maxBytes, observer }),
      length,
    )
  } catch (error) {
    observer?.left()
    // A broken body cannot be canceled, and is not needed.
    void body?.cancel().catch(() => {})
    throw error
  }
}

/** The headers without secrets. */
function maskedHeaders(original: Headers, secrets: readonly string[]): Headers {
  if (secrets.length === 0) return original
  const headers = new Headers()
  for (const [name, value] of original) headers.append(name, maskedForms(value, secrets))
  return headers
}

/** `bounded` as a `Response`. Throws as `bounded` does. */
export function guarded(upstream: Upstream, response: Received, maxBytes: number): Response {
  const { status, headers: bare, length, body } = bounded(upstream, response, maxBytes)
  const headers = new Headers()
  for (const [name, value] of bare) headers.append(name, value)
  headers.delete('content-encoding')
  if (length === undefined) headers.delete('content-length')
  return new Response(body ? streamOf(body[Symbol.asyncIterator]()) : null, { status, headers })
}

/** The encodings of a body, the last one first. */
function encodingsOf({ name }: Upstream, headers: Headers): string[] {
  const original = headers.get('content-encoding')
  if (original === null) return NONE
  const encodings = original.split(',').map((one) => one.trim().toLowerCase())
  const packed = encodings.filter((one) => one !== '' && one !== 'identity').reverse()
  if (packed.length > MAX_ENCODINGS || packed.some((one) => !Object.hasOwn(UNPACKERS, one)))
    throw new Unreadable(
      `the response of ${name} has the content-encoding ${JSON.stringify(original.slice(0, 100))}: only ${Object.keys(UNPACKERS).join(', ')} can be read`,
    )
  return packed
}

/** RFC 9110, section 15; a status below 200 is not a final response. */
const isStatus = (status: number) => status >= 200 && status <= 599

const NONE: string[] = []

const tooLarge = ({ name }: Upstream, maxBytes: number) =>
  new Unreadable(`the response of ${name} is larger than ${maxBytes} bytes (--max-response)`)

/** The pieces without secrets, up to the size limit. */
class BoundedReader implements ProviderBody {
  readonly #source: ChunkReader
  readonly #mask: SecretMask | undefined
  readonly #bounds: Bounds
  #length = 0

  constructor(source: ChunkReader, secrets: readonly string[], bounds: Bounds) {
    this.#source = source
    this.#mask = secrets.length === 0 ? undefined : new SecretMask(secrets)
    this.#bounds = bounds
  }

  async read(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { upstream, maxBytes, observer } = this.#bounds
    for (;;) {
      let step: Awaited<ReturnType<ChunkReader['read']>>
      try {
        step = await this.#source.read()
      } catch (error) {
        observer?.broken(error)
        throw error
      }
      const { done, value } = step
      if (done || !value) {
        observer?.ended()
        const rest = this.#mask?.end()
        return rest && rest.length > 0 ? { done: false, value: rest } : { done: true, value: undefined }
      }
      observer?.piece(value)
      this.#length += value.byteLength
      if (this.#length > maxBytes) {
        await this.cancel().catch(() => {})
        throw tooLarge(upstream, maxBytes)
      }
      const bytes = this.#mask ? this.#mask.next(value) : value
      if (bytes.length > 0) return { done: false, value: bytes }
    }
  }

  cancel(): Promise<void> {
    this.#bounds.observer?.left()
    return this.#source.cancel()
  }

  /** Not a generator: leaving it during a pending read cancels the body at once. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return {
      next: () => this.read(),
      return: async () => {
        await this.cancel()
        return { done: true, value: undefined }
      },
    }
  }
}

async function* piecesOf(reader: ChunkReader): AsyncGenerator<Uint8Array> {
  for (let step = await reader.read(); !step.done && step.value; step = await reader.read()) yield step.value
}

interface Bounds {
  upstream: Upstream
  maxBytes: number
  observer?: BodyObserver | undefined
}

/** The decompressed pieces, in small ones: only what is read is decompressed. */
async function* unpacked(
  pieces: AsyncGenerator<Uint8Array>,
  { encoding, upstream, maxBytes }: Bounds & { encoding: string },
): AsyncGenerator<Uint8Array> {
  let broken: unknown
  const first = await pieces.next()
  if (first.done) return
  const transform = UNPACKERS[encoding]?.(first.value)
  if (!transform) return
  const source = Readable.from(
    (async function* () {
      try {
        yield first.value
        let length = 0
        for await (const piece of pieces) {
          // The compressed input may not exceed the limit of its content either.
          length += piece.byteLength
          if (length > maxBytes) throw tooLarge(upstream, maxBytes)
          yield piece
        }
      } catch (error) {
        broken = error
        throw error
      }
    })(),
  )
  source.on('error', (error) => transform.destroy(error))
  try {
    for await (const piece of source.pipe(transform)) yield piece as Uint8Array
  } catch {
    if (broken !== undefined) throw broken
    throw new ConnectionFailure('the connection to the provider failed: the response cannot be decompressed')
  } finally {
    source.destroy()
    transform.destroy()
    await pieces.return(undefined)
  }
}
