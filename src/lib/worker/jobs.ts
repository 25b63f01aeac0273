// What is done in a worker, since it takes longer than other calls may wait. Each job loads what it needs.
import type { EncodedVectors, VectorEncoding } from '../embedding.ts'
import type { ImageSpec } from '../media/image.ts'
import type { SpeechOptions } from '../media/speech.ts'
import { type PackedTexts, unpackTexts } from './packed-texts.ts'

/** What came of a sample: the value, or what is wrong with the schema, and where. */
export type SampleResult = { sample: unknown } | { message: string; path: string; invalid: boolean }

interface EmbeddingJob extends PackedTexts {
  dimensions: number
  encoding: VectorEncoding
}

/** The jobs by name; their inputs are copied between the threads, but for the texts in them: those are shared. */
export const jobs = {
  /** Numbers of tokens of some texts. */
  async countTokens(texts: PackedTexts): Promise<Uint32Array> {
    const { countTokens } = await import('../tokens.ts')
    return Uint32Array.from(unpackTexts(texts), countTokens)
  },
  /** Where the pieces of a text end, in UTF-16 units, and their numbers of tokens: one array is copied faster than many pieces. */
  async splitTokens({ text }: { text: string }): Promise<{ ends: Uint32Array; tokens: Uint32Array }> {
    const { splitTokens } = await import('../tokens.ts')
    const pieces = splitTokens(text)
    let end = 0
    return {
      ends: Uint32Array.from(pieces, (piece) => (end += piece.text.length)),
      tokens: Uint32Array.from(pieces, (piece) => piece.tokens),
    }
  },
  /** The vectors of some texts, as an answer has them. */
  async embedTexts({ dimensions, encoding, ...texts }: EmbeddingJob): Promise<EncodedVectors> {
    const { encodeTexts } = await import('../embedding.ts')
    return encodeTexts(unpackTexts(texts), { dimensions, encoding })
  },
  async drawImage(spec: ImageSpec): Promise<Uint8Array> {
    const { renderImage } = await import('../media/image.ts')
    return renderImage(spec)
  },
  async speak(speech: SpeechOptions): Promise<{ bytes: Uint8Array; seconds: number }> {
    const { renderSpeech } = await import('../media/speech.ts')
    return renderSpeech(speech)
  },
  async sample({ schema, key }: { schema: object | boolean; key: string }): Promise<SampleResult> {
    const { InvalidSchema, SchemaError, sampleOf } = await import('../json-schema/index.ts')
    try {
      return { sample: await sampleOf(schema, key) }
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error
      return { message: error.message, path: error.path, invalid: error instanceof InvalidSchema }
    }
  },
}

/** The jobs that there are. */
export type Jobs = typeof jobs
