// A router operation as data, so that no code below endpoints/ depends on a particular one.

import type { z } from 'zod'
import type { EventBatch, EventData, StreamEvent } from '../../lib/sse.ts'
import type { AnswerAssembly } from './assembly.ts'
import type { envelope } from './error.ts'
import type { ModelConversation } from './history.ts'
import type { JobLimits } from './job-limits.ts'
import type { KeyValueEntry, KeyValueStore } from './key-value.ts'

/** The operation of a call to an unknown path. */
export const NO_OPERATION = 'none'

/** The conversation of a call in the form that fixtures match. */
export interface Prompt {
  system: string
  /** Text of the last user message, or the input text of the operation. */
  user: string
  /** Number of user messages. */
  turn: number
  tools: readonly string[]
  /** Whether the call forbids tool calls (`tool_choice: none`). */
  forbidsTools?: boolean
  /** Whether the last message is a tool result. */
  toolResult: boolean
  /** Text of that result. */
  toolText?: string | undefined
  /** The required kind of response: a forced tool call, JSON, or text (the default). */
  answer?: 'text' | 'json' | 'tool'
  /** The input file of the operation. */
  file?: PromptFile
}

/** An audio file in the form that fixtures match. */
export interface PromptFile {
  name: string
  /** Hexadecimal. */
  sha256: string
  /** Length in seconds. */
  seconds: number
}

/** A file or image in a request, as the trace names it. */
export interface Attachment {
  kind: 'image' | 'audio' | 'file'
  name: string
}

/** What a response depends on besides the request. All of it repeats when seed, clock and order of calls repeat. */
export interface AnswerContext {
  /** The call's ULID, from which the ids in the response are derived. */
  id: string
  /** Start of the call, in milliseconds since the epoch. */
  now: number
  /**
   * A secret for names that outsiders cannot guess: a function of the seed on a virtual clock, of the process
   * otherwise.
   */
  secret: string
  /** What calls of the session store for later ones. */
  keyValues: KeyValueStore
  /** Id of the call's workspace. Values for later calls can be found only from there. */
  workspace(): string
  /** The URL of a path of this server as the caller reaches it, including the session. */
  publicUrl(path: string): string
  /** Aborts when the response is no longer needed. Created on demand; most calls never use it. */
  readonly signal: AbortSignal
  /** The limits of its jobs in workers; default: the usual ones. */
  readonly jobLimits?: JobLimits | undefined
}

/** What the response of one attempt depends on. */
export interface AttemptContext {
  /** The responding `<provider>/<model>`. */
  model: string
  answerContext: AnswerContext
  /** Aborts when the client disconnects or the time of the attempt is up. */
  readonly signal: AbortSignal
}

/** A response in both of its forms. Each is created on demand. */
export interface RenderedAnswer {
  body(): unknown
  /** The body as JSON, if already known. */
  text?: string | undefined
  /** All events of its stream. */
  events(): EventBatch
  /** The result of `assembly` after all events; absent if it can only be computed from them. */
  streamed?: (() => object) | undefined
  /**
   * Counts for the trace: `prompt_tokens` and `completion_tokens` or `input_tokens` and `output_tokens`, `images` of a
   * `quality` and `size`, `seconds`.
   */
  usage: Record<string, unknown>
  /** The stop sequence that ended the text, if any. */
  stoppedBy?: string | undefined
  /** Number of tokens of the response, for pacing. */
  tokens: number
}

/** Fills the variables of a text; `param` is its position in the request, for errors in templates. */
export type FillText = (text: string, param?: string) => string

/** Returns the number of tokens of a text. */
export type CountTokens = (text: string) => number

/** How a provider's stream of an operation is parsed. */
export interface StreamRules {
  /** Whether it is the end mark of the stream; default: `[DONE]`. */
  ends?(data: Record<string, unknown>): boolean
  /** Whether it is the last event of the provider's own API, if no end mark follows. */
  last?(data: Record<string, unknown>): boolean
  /** Why the data of an event is not part of a response of this operation; undefined if it is. */
  wrongWith(data: Record<string, unknown>): string | undefined
  /** Whether it has content that a reader sees. */
  hasContent(data: Record<string, unknown>): boolean
  /** Whether it shows, without content, that the response has started; default: none does. */
  begins?(data: Record<string, unknown>): boolean
  /** Whether the response is complete with these events: every choice has a finish reason. */
  complete(events: readonly EventData[]): boolean
  /** One of our events as OpenAI's own API sends it, if the router's differs. */
  asOpenai?(data: Record<string, unknown>): Record<string, unknown>
  /** The value that describes a failure inside an event; default: the data itself, if it has an `error`. */
  failureIn?(data: Record<string, unknown>): unknown
  /** The events that report a failure to a client; default: one with the error envelope. */
  failed?(error: ReturnType<typeof envelope>, sent: readonly EventData[]): StreamEvent[]
}

/** How responses are generated. */
export interface GenerationOptions {
  /**
   * Whether tools are called when the request requires it, or whenever they are offered and none has returned a result.
   */
  tools: 'requested' | 'eager'
}

/** The call for which a response is generated. */
export type GenerationCall = Pick<AnswerContext, 'signal' | 'jobLimits'>

/** Responses that are bytes on the wire. */
interface BinaryAnswers {
  /** The possible media types. */
  readonly types: readonly string[]
  encode(value: unknown): { bytes: Uint8Array; contentType: string }
  /** The value of a provider's response; undefined if the media type is not one of these. */
  decode(bytes: Uint8Array, contentType: string): object | undefined
}

/** A router operation: `Request` is the parsed body, `Script` the `reply` of a fixture. */
export interface Operation<Request = unknown, Script = unknown> {
  readonly name: string
  readonly path: string
  /** What its responses are called: `chat completion`. */
  readonly answerName: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly examples: Record<string, object>
  /**
   * The equivalent operation of another form, and whether its fixtures are used for calls of this one that match none.
   */
  readonly neighbour?: { name: string; answers: boolean }
  /** Whether it is not in the specification. */
  readonly extension?: boolean
  /**
   * Whether its responses follow from the request alone: no fixture is needed, and no model is called, unless its API
   * is passed through.
   */
  readonly isComputed?: boolean
  /** Encoding of the body. `multipart` fields are passed to `request` by name, a file as a `File`. */
  readonly body: 'json' | 'multipart'
  /** Status of an invalid body, default 400. */
  readonly invalidStatus?: number
  /** Gateway settings without a field in it do not apply to the operation. */
  readonly request: z.ZodObject & z.ZodType<Request>
  /** The field that may have very many items, each validated by itself. */
  readonly longList?: string
  readonly response: z.ZodType
  /** Data of one stream event; absent if the operation never streams. */
  readonly chunk?: z.ZodType
  readonly script: z.ZodType<Script>
  model(request: Request): string
  streams(request: Request): boolean
  prompt(request: Request): Prompt
  /** The start of a call's conversation, which distinguishes it from others; default: `prompt`. */
  opening?(request: Request): Pick<Prompt, 'system' | 'user'>
  /** The conversation as its provider judges it; absent for operations without one. */
  conversation?(request: Request, answerContext: AnswerContext): ModelConversation
  /**
   * Number of input tokens, which is compared with the model's context window. `count` counts its texts, by default
   * with a cache.
   */
  promptTokens(request: Request, count?: CountTokens): number
  attachments?(request: Request): readonly Attachment[]
  /** Whether the trace may store the request and response, by the received body, valid or not; default: yes. */
  retains?(body: unknown): boolean
  /** The request with every text that may contain template variables replaced by the result of `fill`. */
  fillTexts?(request: Request, fill: FillText): Request
  /**
   * Rejects what the schema allows, but the model does not support.
   * @throws ApiError
   */
  check?(request: Request): void
  /** Whether a request has something to resolve; default: always. */
  refers?(request: Request): boolean
  /**
   * The request with its references (an earlier response, the content of a file) resolved.
   * @throws ApiError if one does not exist
   */
  resolve?(request: Request, answerContext: AnswerContext): Promise<Request>
  /**
   * The response when no fixture matches: a function of the request and the options alone, unless the call is canceled.
   */
  generate(request: Request, options: GenerationOptions, call: GenerationCall): Script | Promise<Script>
  compose(request: Request, script: Script, attempt: AttemptContext): RenderedAnswer | Promise<RenderedAnswer>
  /** Assembles the client's whole response from the events of a stream; absent if the operation never streams. */
  assembly?(): AnswerAssembly
  /** Why a value is not a response of this operation; undefined if it is one. */
  wrongWith(answer: unknown): string | undefined
  /** How a response is sent that is not JSON, such as sound. Traces and fixtures contain the value instead. */
  readonly binary?: BinaryAnswers
  /**
   * The inverse of a response: the `reply` of a fixture that reproduces it, for the first choice and without what only
   * the request knows. Undefined if it is not a response.
   */
  scriptOf(answer: unknown): Script | undefined
  /** How a provider's stream is parsed; absent if the operation never streams. */
  readonly events?: StreamRules
  /** A stored response to an equal call with a new id; default: unchanged, for responses without id and stream. */
  replay?(request: Request, answer: object, answerContext: AnswerContext): Pick<RenderedAnswer, 'body' | 'events'>
  /** The request with text from knowledge bases before its messages; absent if it has no place for it. */
  addContext?(request: Request, context: string): Request
  /** All texts of the user, which input guardrails check; default: that of `prompt`. */
  inputTexts?(request: Request): readonly string[]
  /** All texts of a response, which output guardrails check. */
  outputTexts?(answer: unknown): readonly string[]
  /** What a complete response stores for later calls; committed together with its trace. */
  keep?(request: Request, answer: object, answerContext: AnswerContext): readonly KeyValueEntry[]
}
