// What a provider sends without the key that it was sent, should it repeat that; nothing is held back that cannot be part of it.

const MASK = Buffer.from('[key]')

/** The pieces as they come, with the key masked; `broken` makes what they fail with. */
export async function* piecesWithoutKey(
  body: ReadableStream<Uint8Array>,
  secret: string | undefined,
  broken: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  const key = secret ? Buffer.from(secret) : undefined
  const reader = body.getReader()
  let held: Buffer = Buffer.alloc(0)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if (!key) {
        yield value
        continue
      }
      const text = withoutKeyBytes(held.length > 0 ? Buffer.concat([held, value]) : asBuffer(value), key)
      const begun = beginningOf(text, key)
      held = text.subarray(text.length - begun)
      if (text.length > begun) yield text.subarray(0, text.length - begun)
    }
    if (held.length > 0) yield held
  } catch (error) {
    throw broken(error)
  } finally {
    // One that has broken has nothing to say about its end.
    await reader.cancel().catch(() => {})
  }
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)

function withoutKeyBytes(bytes: Buffer, key: Buffer): Buffer {
  let at = bytes.indexOf(key)
  if (at < 0) return bytes
  const parts: Buffer[] = []
  let from = 0
  for (; at >= 0; at = bytes.indexOf(key, from)) {
    parts.push(bytes.subarray(from, at), MASK)
    from = at + key.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

/** How many of the last bytes may be the beginning of the key. */
function beginningOf(bytes: Buffer, key: Buffer): number {
  for (let length = Math.min(key.length - 1, bytes.length); length > 0; length--)
    if (bytes.subarray(bytes.length - length).equals(key.subarray(0, length))) return length
  return 0
}
