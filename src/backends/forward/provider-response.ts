// The response of a provider within limits, unpacked where it is packed although that was not asked for, and without the key that
// it was sent, should it repeat that.
import { Readable, type Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { ConnectionFailure, Unreadable } from '../../contract/reply.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { maskedForms, SecretMask, secretFormsOf } from './secret-forms.ts'

/** Bytes of a response that are read, unpacked. */
export const MAX_RESPONSE = 64 * 2 ** 20

const SYNC = { flush: constants.Z_SYNC_FLUSH }
// Whatever was sent so far is passed on at once, as each event of a stream must be.
const UNPACKERS: Record<string, (first: Uint8Array) => Transform> = {
  gzip: () => createGunzip(SYNC),
  'x-gzip': () => createGunzip(SYNC),
  // With the header of zlib, as the standard has it, or without, as some servers send it.
  deflate: ([first = 0]) => ((first & 0x0f) === 8 ? createInflate(SYNC) : createInflateRaw(SYNC)),
  br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress({ flush: constants.ZSTD_e_flush }),
}
const MAX_ENCODINGS = 3

/**
 * The response, with its body as a client may have it; an error in its body is `Unreadable` where it is one of the provider's.
 * @param most bytes of the body, unpacked
 * @throws Unreadable when it is larger than that by its own account, or packed in a way that is not known
 */
export async function guarded(upstream: Upstream, response: Response, most: number): Promise<Response> {
  const { status, body } = response
  const secrets = secretFormsOf(upstream.key)
  const headers = new Headers()
  for (const [name, value] of response.headers) headers.append(name, maskedForms(value, secrets))
  if (!body) return new Response(null, { status, headers })
  try {
    const encodings = encodingsOf(upstream, headers)
    if (encodings.length > 0) headers.delete('content-length')
    else if (Number(headers.get('content-length')) > most) throw tooLarge(upstream, most)
    const reader = body.getReader()
    let source: PieceReader = reader
    if (encodings.length > 0) {
      let pieces = piecesOf(reader)
      for (const encoding of encodings) pieces = unpacked(pieces, { encoding, upstream, most })
      source = { read: () => pieces.next(), cancel: () => reader.cancel() }
    }
    return new Response(boundedStream(source, new SecretMask(secrets), { upstream, most }), { status, headers })
  } catch (error) {
    await body.cancel().catch(() => {})
    throw error
  }
}

/** The encodings of a body, the last one first; `content-encoding` is taken away. */
function encodingsOf({ name }: Upstream, headers: Headers): string[] {
  const given = headers.get('content-encoding') ?? ''
  headers.delete('content-encoding')
  const encodings = given.split(',').map((one) => one.trim().toLowerCase())
  const packed = encodings.filter((one) => one !== '' && one !== 'identity').reverse()
  if (packed.length > MAX_ENCODINGS || packed.some((one) => !Object.hasOwn(UNPACKERS, one)))
    throw new Unreadable(
      `the response of ${name} has the content-encoding ${JSON.stringify(given.slice(0, 100))}: only ${Object.keys(UNPACKERS).join(', ')} can be read`,
    )
  return packed
}

const tooLarge = ({ name }: Upstream, most: number) =>
  new Unreadable(`the response of ${name} is larger than ${most} bytes (--max-response)`)

/** Who gives pieces; one that is cancelled gives no more, even while its next piece is waited for. */
interface PieceReader {
  read(): Promise<{ done?: boolean | undefined; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

/** The pieces without secrets, up to the limit; each is read when it is asked for. */
function boundedStream(source: PieceReader, mask: SecretMask, { upstream, most }: Bounds): ReadableStream<Uint8Array> {
  let length = 0
  return new ReadableStream(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await source.read()
          if (done || !value) {
            const rest = mask.end()
            if (rest.length > 0) controller.enqueue(rest)
            return controller.close()
          }
          length += value.byteLength
          if (length > most) {
            await source.cancel().catch(() => {})
            throw tooLarge(upstream, most)
          }
          const bytes = mask.next(value)
          if (bytes.length > 0) return controller.enqueue(bytes)
        }
      },
      cancel: () => source.cancel(),
    },
    { highWaterMark: 0 },
  )
}

async function* piecesOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value
}

interface Bounds {
  upstream: Upstream
  most: number
}

async function* limited(pieces: AsyncIterable<Uint8Array>, { upstream, most }: Bounds): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const piece of pieces) {
    length += piece.byteLength
    if (length > most) throw tooLarge(upstream, most)
    yield piece
  }
}

/** The pieces unpacked, in small ones: what is not read any more is not unpacked. */
async function* unpacked(
  pieces: AsyncGenerator<Uint8Array>,
  { encoding, upstream, most }: Bounds & { encoding: string },
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
        // No more is read of it than of what is in it.
        yield* limited(pieces, { upstream, most })
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
    throw new ConnectionFailure('the connection to the provider broke: what came cannot be unpacked')
  } finally {
    source.destroy()
    transform.destroy()
    await pieces.return(undefined)
  }
}
