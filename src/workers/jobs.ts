// The jobs of workers, which take longer than other calls may wait. Each job loads what it needs.
import type { DocumentOptions, InteractionText } from '../cassettes/document.ts'
import type { PackedAttempt } from '../cassettes/packed.ts'
import type { PortableRedactor, TextRedaction } from '../cassettes/redact.ts'
import type { Interaction, UpstreamRequest } from '../contract/core/cassette.ts'
import type { EncodedVectors, VectorEncoding } from '../lib/embedding.ts'
import type { ImageSpec } from '../lib/media/image.ts'
import type { SpeechOptions } from '../lib/media/speech.ts'
import type { Templating } from '../lib/templates.ts'
import { type PackedTexts, packTexts, unpackTexts } from './packed-texts.ts'

/** A sample, or the problem of the schema and its position. */
type SampleResult = { sample: unknown } | { message: string; path: string; invalid: boolean }

/**
 * The problems of a text under a schema; or why they are unknown: an invalid schema, too much work, or a text that is
 * not JSON.
 */
type CheckResult = { problems: string[] } | { message: string; path: string; why: 'schema' | 'work' | 'text' }

/**
 * The ends of a text's pieces, in UTF-16 units, and their token counts: one array is copied faster than many pieces.
 */
export interface SplitText {
  ends: Uint32Array
  tokens: Uint32Array
}

interface EmbeddingJob extends PackedTexts {
  dimensions: number
  encoding: VectorEncoding
}

/** A document to be chunked. */
export interface ChunkingJob {
  bytes: Uint8Array
  name: string
  type: string
  /** Names of the clean-up steps. */
  cleanUps: readonly string[]
  size: number
  overlap: number
}

interface RedactionJob {
  redactor: PortableRedactor
}

interface DocumentJob {
  about: Omit<Interaction, 'attempts'>
  packed: readonly PackedAttempt[]
  options: DocumentOptions
}

const redactorOf = async ({ options, state }: PortableRedactor) =>
  (await import('../cassettes/redact.ts')).createRedactor(options, state)

/**
 * The jobs by name. Their inputs are copied between the threads, except for texts, which are shared. Schemas are texts.
 */
export const jobs = {
  /** Token counts of texts. */
  async countTokens(texts: PackedTexts): Promise<Uint32Array> {
    const { countTokens } = await import('../lib/tokens.ts')
    return Uint32Array.from(unpackTexts(texts), countTokens)
  },
  async splitTokens({ text, each }: { text: string; each: number }): Promise<SplitText> {
    const { splitTokens } = await import('../lib/tokens.ts')
    const pieces = splitTokens(text, each)
    let end = 0
    return {
      ends: Uint32Array.from(pieces, (piece) => (end += piece.text.length)),
      tokens: Uint32Array.from(pieces, (piece) => piece.tokens),
    }
  },
  /** The vectors of texts in the encoding of a response. */
  async embedTexts({ dimensions, encoding, ...texts }: EmbeddingJob): Promise<EncodedVectors> {
    const { encodeTexts } = await import('../lib/embedding.ts')
    return encodeTexts(unpackTexts(texts), { dimensions, encoding })
  },
  /** The texts of a document's chunks, or why it cannot be read. */
  async chunkDocument({ bytes, name, type, cleanUps, ...lengths }: ChunkingJob): Promise<PackedTexts | string> {
    const [{ chunkText, cleaned }, { documentText, UnreadableDocument }] = await Promise.all([
      import('../lib/chunking.ts'),
      import('../lib/text-of.ts'),
    ])
    try {
      return packTexts(chunkText(cleaned(await documentText(bytes, name, type), cleanUps), lengths))
    } catch (error) {
      if (error instanceof UnreadableDocument) return error.message
      // Too many chunks, or nesting that overflows the stack.
      if (error instanceof RangeError) return error.message
      throw error
    }
  },
  /** The vectors of texts as one array of numbers. */
  async vectorsOf({ dimensions, ...texts }: PackedTexts & { dimensions: number }): Promise<Float32Array> {
    const { embed } = await import('../lib/embedding.ts')
    const all = unpackTexts(texts)
    const vectors = new Float32Array(all.length * dimensions)
    for (const [index, text] of all.entries()) vectors.set(embed(text, dimensions), index * dimensions)
    return vectors
  },
  /** The texts of templates, or the problem of the first invalid one. */
  async renderTemplates({
    engine,
    values,
    ...templates
  }: PackedTexts & Templating): Promise<PackedTexts & { problem?: string }> {
    const [{ renderAll }, { TEMPLATE_LIMITS }] = await Promise.all([
      import('../lib/templates.ts'),
      import('../lib/template-budget.ts'),
    ])
    const { texts, problem } = await renderAll(unpackTexts(templates), { engine, values }, TEMPLATE_LIMITS)
    return { ...packTexts(texts), ...(problem && { problem: problem.message }) }
  },
  /** The reason why a built-in guardrail blocks texts; null if they pass. */
  async checkTexts({ guardrail, ...texts }: PackedTexts & { guardrail: string }): Promise<string | null> {
    const { builtIns } = await import('../guardrails/index.ts')
    const builtIn = builtIns.find(({ name }) => name === guardrail)
    if (!builtIn) throw new Error(`there is no guardrail ${guardrail}`)
    return builtIn.check(unpackTexts(texts))
  },
  async drawImage(spec: ImageSpec): Promise<Uint8Array> {
    const { renderImage } = await import('../lib/media/image.ts')
    return renderImage(spec)
  },
  async speak(speech: SpeechOptions): Promise<{ bytes: Uint8Array; seconds: number }> {
    const { renderSpeech } = await import('../lib/media/speech.ts')
    return renderSpeech(speech)
  },
  async sample({ schema }: { schema: string }): Promise<SampleResult> {
    const { InvalidSchema, SchemaError, sampleOf } = await import('../lib/json-schema/index.ts')
    try {
      return { sample: await sampleOf(JSON.parse(schema), schema) }
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error
      return { message: error.message, path: error.path, invalid: error instanceof InvalidSchema }
    }
  },
  async checkText({ schema, text }: { schema: string; text: string }): Promise<CheckResult> {
    const { SchemaError, violations, WorkSpent } = await import('../lib/json-schema/index.ts')
    try {
      return { problems: await violations(JSON.parse(schema), text) }
    } catch (error) {
      if (error instanceof SchemaError)
        return { message: error.message, path: error.path, why: error instanceof WorkSpent ? 'work' : 'schema' }
      if (error instanceof SyntaxError) return { message: error.message, path: '', why: 'text' }
      throw error
    }
  },
  /** The problem of a schema's keywords; undefined if there is none. */
  async checkSchema({ schema }: { schema: string }): Promise<{ message: string; path: string } | undefined> {
    const { SchemaError, checkSchema } = await import('../lib/json-schema/index.ts')
    try {
      await checkSchema(JSON.parse(schema))
      return undefined
    } catch (error) {
      if (error instanceof SchemaError) return { message: error.message, path: error.path }
      throw error
    }
  },
  /** A recorded attempt without secrets, and what the redactor has found until now. */
  async redactAttempt({ redactor, packed }: RedactionJob & { packed: PackedAttempt }) {
    const { packAttempt, unpackAttempt } = await import('../cassettes/packed.ts')
    const redacted = (await redactorOf(redactor)).attempt(unpackAttempt(packed))
    return { packed: packAttempt(redacted), state: redactor.state }
  },
  /** The same for a request. */
  async redactRequest({ redactor, request }: RedactionJob & { request: UpstreamRequest }) {
    return { request: (await redactorOf(redactor)).request(request), state: redactor.state }
  },
  /** What is replaced in a text of a trace. */
  async redactText({ redactor, text }: RedactionJob & { text: string }): Promise<TextRedaction> {
    return (await redactorOf(redactor)).find(text)
  },
  /** The document of an interaction in a cassette. */
  async composeDocument({ about, packed, options }: DocumentJob): Promise<InteractionText> {
    const [{ interactionText }, { unpackAttempt }] = await Promise.all([
      import('../cassettes/document.ts'),
      import('../cassettes/packed.ts'),
    ])
    return interactionText({ ...about, attempts: packed.map(unpackAttempt) }, options)
  },
}

/** The type of all jobs. */
export type Jobs = typeof jobs
