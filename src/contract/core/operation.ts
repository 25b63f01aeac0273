// What the gateway needs to know of a router operation, so that nothing below endpoints/ asks which one it is.

import type { z } from 'zod'
import type { EventBatch, EventData, StreamEvent } from '../../lib/sse.ts'
import type { AnswerAssembly } from './assembly.ts'
import type { envelope } from './error.ts'
import type { ModelConversation } from './history.ts'
import type { JobLimits } from './job-limits.ts'
import type { KeyValueEntry, KeyValueStore } from './key-value.ts'

/** The conversation of a call in the form that fixtures match on. */
export interface Prompt {
  system: string
  /** Text of the last user message, or the one text that the operation works on. */
  user: string
  /** Number of user messages. */
  turn: number
  tools: readonly string[]
  /** Whether the call forbids calls of tools (`tool_choice: none`). */
  forbidsTools?: boolean
  /** Whether the last message is the result of a tool. */
  toolResult: boolean
  /** Text of that result. */
  toolText?: string | undefined
  /** What the answer must be: a tool call that is forced, JSON, or, when left out, just text. */
  answer?: 'text' | 'json' | 'tool'
  /** The file that the operation works on. */
  file?: PromptFile
}

/** A file of sound in the form that fixtures match on. */
export interface PromptFile {
  name: string
  /** Hexadecimal. */
  sha256: string
  /** Length. */
  seconds: number
}

/** A file or picture in a request, as the trace names it. */
export interface Attachment {
  kind: 'image' | 'audio' | 'file'
  name: string
}

/** What an answer is made with besides the request: all of it repeats when seed, clock and order of calls repeat. */
export interface AnswerContext {
  /** The call's own ULID, from which the answer's ids are made. */
  id: string
  /** Milliseconds since the epoch at which the call began. */
  now: number
  /** Makes names that nobody outside can guess: a function of the seed on a virtual clock, of the process otherwise. */
  secret: string
  /** What calls of the session keep for later ones. */
  keyValues: KeyValueStore
  /** Id of the workspace that the call works in: what is kept for later calls is found from there alone. */
  workspace(): string
  /** The address of a path of this server as the caller reaches it, with the session in it. */
  publicUrl(path: string): string
  /** Aborted when nobody waits for the answer any more. Made when it is asked for, which most calls never do. */
  readonly signal: AbortSignal
  /** The bounds of its work in workers; the usual ones when left out. */
  readonly jobLimits?: JobLimits | undefined
}

/** What the answer of one attempt is made with. */
export interface AttemptContext extends AnswerContext {
  /** `<provider>/<model>` that answers. */
  model: string
}

/** An answer in both of its forms; each is made only when asked for. */
export interface RenderedAnswer {
  body(): unknown
  /** The body as JSON, when that is made already. */
  text?: string | undefined
  /** All events of its stream. */
  events(): EventBatch
  /** What `assembly` makes of all events; absent when only they say it. */
  streamed?: (() => object) | undefined
  /**
   * Counts for the trace: `prompt_tokens` and `completion_tokens` or `input_tokens` and `output_tokens`, `images` of a
   * `quality` and `size`, `seconds`.
   */
  usage: Record<string, unknown>
  /** The stop sequence that ended the text, when one did. */
  stoppedBy?: string | undefined
  /** Tokens of the answer, for pacing. */
  tokens: number
}

/** A text with its variables filled in; `param` is where it stands in the request, for the error of a broken template. */
export type FillText = (text: string, param?: string) => string

/** Returns the number of tokens of a text. */
export type CountTokens = (text: string) => number

/** How a provider's stream of an operation is understood. */
export interface StreamRules {
  /** Whether it is the end mark of the stream; that is `[DONE]` when left out. */
  ends?(data: Record<string, unknown>): boolean
  /** Whether it is the last event of the provider's own API, where that has no end mark behind it. */
  last?(data: Record<string, unknown>): boolean
  /** Why the data of an event does not belong to an answer of this operation, undefined when it does. */
  wrongWith(data: Record<string, unknown>): string | undefined
  /** Whether it carries a part of the answer that a reader sees. */
  hasContent(data: Record<string, unknown>): boolean
  /** Whether it says without content that the answer has begun; no event does when left out. */
  begins?(data: Record<string, unknown>): boolean
  /** Whether the answer is complete with these events: every choice has its finish reason. */
  complete(events: readonly EventData[]): boolean
  /** The value that holds a failure told in an event; the data itself, when it has an `error`, unless said otherwise. */
  failureIn?(data: Record<string, unknown>): unknown
  /** The events that tell a client of a failure; one with the error envelope unless said otherwise. */
  failed?(error: ReturnType<typeof envelope>, sent: readonly EventData[]): StreamEvent[]
}

/** How answers are made up. */
export interface GenerationOptions {
  /** Whether tools are called when the request demands it, or whenever they are offered and none has given its result. */
  tools: 'requested' | 'eager'
}

/** Who asks for an answer that is made up. */
export interface GenerationCall {
  /** Aborted when nobody waits for it any more. */
  readonly signal: AbortSignal
  /** The bounds of its work in workers; the usual ones when left out. */
  readonly jobLimits?: JobLimits | undefined
}

/** Answers that are bytes on the wire. */
interface BinaryAnswers {
  /** The media types that they may have. */
  readonly types: readonly string[]
  encode(value: unknown): { bytes: Uint8Array; contentType: string }
  /** The value of what a provider sent; undefined when the media type is none of an answer. */
  decode(bytes: Uint8Array, contentType: string): object | undefined
}

/** One router endpoint as data: `Request` is the parsed body, `Script` what a fixture says under `reply`. */
export interface Operation<Request = unknown, Script = unknown> {
  readonly name: string
  readonly path: string
  /** What its answers are called: `chat completion`. */
  readonly answerName: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly examples: Record<string, object>
  /** The operation that asks the same in other words, and whether its fixtures answer this one's calls that have none. */
  readonly neighbour?: { name: string; answers: boolean }
  /** Whether the specification does not have it. */
  readonly extension?: boolean
  /** Whether its answers follow from the request alone: no fixture is needed, and no model is asked, unless its API is passed on. */
  readonly isComputed?: boolean
  /** How the body comes; `multipart` fields are given to `request` by name, a file as a `File`. */
  readonly body: 'json' | 'multipart'
  /** Status of an invalid body, 400 when left out. */
  readonly invalidStatus?: number
  /** Settings of the gateway that it has no field for do not apply to it. */
  readonly request: z.ZodObject & z.ZodType<Request>
  /** The field that may hold very many items, each valid by itself. */
  readonly longList?: string
  readonly response: z.ZodType
  /** Data of one event of a stream; absent when the operation never streams. */
  readonly chunk?: z.ZodType
  readonly script: z.ZodType<Script>
  model(request: Request): string
  streams(request: Request): boolean
  prompt(request: Request): Prompt
  /** How the conversation of a call begins, which tells it from others; `prompt` when left out. */
  opening?(request: Request): Pick<Prompt, 'system' | 'user'>
  /** The conversation as its provider judges it; absent of operations that have none. */
  conversation?(request: Request, answerContext: AnswerContext): ModelConversation
  /** Tokens of the input, held against the model's context window; `count` counts its texts, with a cache when omitted. */
  promptTokens(request: Request, count?: CountTokens): number
  attachments?(request: Request): readonly Attachment[]
  /** Whether the trace may keep what the call sent and got, by its body as it came, valid or not; it may when left out. */
  retains?(body: unknown): boolean
  /** The request with every text that may hold template variables replaced by what `fill` makes of it. */
  fillTexts?(request: Request, fill: FillText): Request
  /** Refuses what the schema allows, and the model does not take. */
  check?(request: Request): void
  /** Whether a request has something to resolve; every one has when left out. */
  refers?(request: Request): boolean
  /** The request with what it refers to (an earlier answer, the inside of a file) looked up; refuses what is not there. */
  resolve?(request: Request, answerContext: AnswerContext): Promise<Request>
  /** The answer when no fixture matches: a function of the request and the options alone, unless the call has gone. */
  generate(request: Request, options: GenerationOptions, call: GenerationCall): Script | Promise<Script>
  compose(request: Request, script: Script, answerContext: AttemptContext): RenderedAnswer | Promise<RenderedAnswer>
  /** Puts the whole answer of a client together out of the events of a stream; absent when the operation never streams. */
  assembly?(): AnswerAssembly
  /** Why a value is not an answer of this operation, undefined when it is one. */
  wrongWith(answer: unknown): string | undefined
  /** How an answer is sent that is no JSON, such as sound; the value is what traces and fixtures know of it. */
  readonly binary?: BinaryAnswers
  /**
   * The inverse of an answer: what a fixture says under `reply` to have it made again, for the first choice and without what
   * only the request knows. Undefined for what is not an answer.
   */
  scriptOf(answer: unknown): Script | undefined
  /** How a provider's stream is read; absent when the operation never streams. */
  readonly events?: StreamRules
  /** A stored answer to an equal call, told again under a new id; as it is when left out, for answers without id and stream. */
  replay?(request: Request, answer: object, answerContext: AnswerContext): Pick<RenderedAnswer, 'body' | 'events'>
  /** The request with what was found in knowledge bases before its messages; absent when it has no place for it. */
  addContext?(request: Request, context: string): Request
  /** All texts of the user, which input guardrails look at; that of `prompt` when left out. */
  inputTexts?(request: Request): readonly string[]
  /** All texts of an answer, which output guardrails look at. */
  outputTexts?(answer: unknown): readonly string[]
  /** What a complete answer leaves for later calls; committed together with its trace. */
  keep?(request: Request, answer: object, answerContext: AnswerContext): readonly KeyValueEntry[]
}
