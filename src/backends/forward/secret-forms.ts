// Masks a provider's key in its responses, also across two pieces of a body.

const MASK = '[key]'
const MASK_BYTES = Buffer.from(MASK)
/** A text with all forms of secrets masked. */
export const maskedForms = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((rest, secret) => (rest.includes(secret) ? rest.replaceAll(secret, MASK) : rest), text)

const NOTHING: Buffer = Buffer.alloc(0)

/** Masks forms of secrets in the pieces of a body. Holds back only bytes that may begin one. */
export class SecretMask {
  readonly #needles: readonly Buffer[]
  #pending = NOTHING

  constructor(secrets: readonly string[]) {
    this.#needles = secrets.map((secret) => Buffer.from(secret))
  }

  /** The bytes that can be passed on after this piece. */
  next(piece: Uint8Array): Uint8Array {
    let bytes = this.#pending.length > 0 ? Buffer.concat([this.#pending, piece]) : asBuffer(piece)
    for (const needle of this.#needles) bytes = without(bytes, needle)
    const prefixLength = Math.max(...this.#needles.map((needle) => beginningOf(bytes, needle)))
    this.#pending = bytes.subarray(bytes.length - prefixLength)
    return prefixLength === 0 ? bytes : bytes.subarray(0, bytes.length - prefixLength)
  }

  /** The bytes held back, at the end of the body. */
  end(): Uint8Array {
    const rest = this.#pending
    this.#pending = NOTHING
    return rest
  }
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)

function without(bytes: Buffer, secret: Buffer): Buffer {
  let at = bytes.indexOf(secret)
  if (at < 0) return bytes
  const parts: Buffer[] = []
  let from = 0
  for (; at >= 0; at = bytes.indexOf(secret, from)) {
    parts.push(bytes.subarray(from, at), MASK_BYTES)
    from = at + secret.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

/** How many of the last bytes may begin the secret. */
function beginningOf(bytes: Buffer, secret: Buffer): number {
  const longest = Math.min(secret.length - 1, bytes.length)
  let at = bytes.indexOf(secret[0] ?? 0, bytes.length - longest)
  for (; at >= 0; at = bytes.indexOf(secret[0] ?? 0, at + 1)) {
    const length = bytes.length - at
    if (length < secret.length && bytes.subarray(at).equals(secret.subarray(0, length))) return length
  }
  return 0
}
