// Apps that ask models questions with the usual packages, unchanged: careful as good ones are, or careless as many are.
// Each package is loaded when it first asks: as programs of their own, apps load only theirs, as most do.
import type Anthropic from '@anthropic-ai/sdk'
import type { LanguageModel } from 'ai'
import type OpenAI from 'openai'

/** Where an app calls, in the session that the key names; what is missing is taken from the environment, as the packages do it. */
export interface Connection {
  openai?: string
  anthropic?: string
  key?: string
  fetch?: typeof fetch
}

/** One question to a model. */
interface Question {
  prompt: string
  stream: boolean
  /** Milliseconds of silence after which the app ends a call; undefined is never. */
  limit: number | undefined
  /** Retries of the package itself. */
  maxRetries: number
  /** Takes what comes, as it comes. */
  show(text: string): void
}

/** How a response ended, as the response itself says: `incomplete` where it does not say it. */
type ResponseEnd = 'whole' | 'filtered' | 'incomplete'
/** Asks a question and reads the response to its end; throws what its package throws. */
type Ask = (question: Question, connection: Connection) => Promise<ResponseEnd>

const ENDS: Record<string, ResponseEnd> = {
  stop: 'whole',
  length: 'whole',
  end_turn: 'whole',
  max_tokens: 'whole',
  content_filter: 'filtered',
  'content-filter': 'filtered',
  refusal: 'filtered',
}
/** What a finish reason says; other reasons, and none, say nothing of an end. */
const endOf = (reason: string | null | undefined): ResponseEnd => ENDS[reason ?? ''] ?? 'incomplete'

/** What the packages of both providers are built with. */
const settingsOf = (base: string | undefined, connection: Connection, { limit, maxRetries }: Question) => ({
  maxRetries,
  logLevel: 'off' as const,
  ...(limit !== undefined && { timeout: limit }),
  ...(base !== undefined && { baseURL: base }),
  ...(connection.key !== undefined && { apiKey: connection.key }),
  ...(connection.fetch && { fetch: connection.fetch }),
})
const openaiAt = async (connection: Connection, question: Question) => {
  const { OpenAI } = await import('openai')
  return new OpenAI(settingsOf(connection.openai, connection, question))
}

/** The timeouts of the packages end with the head of a response: silence within it is the app's own affair. */
async function readAll<T>(
  { limit }: Question,
  stream: AsyncIterable<T> & { controller: AbortController },
  take: (event: T) => void,
): Promise<void> {
  const start = () => (limit === undefined ? undefined : setTimeout(() => stream.controller.abort(), limit))
  let timer = start()
  let isLate = false
  stream.controller.signal.addEventListener('abort', () => {
    isLate = true
  })
  try {
    for await (const event of stream) {
      clearTimeout(timer)
      timer = start()
      take(event)
    }
  } finally {
    clearTimeout(timer)
  }
  // The packages end an aborted stream as if it were complete.
  if (isLate) throw new DOMException('nothing came any more', 'TimeoutError')
}

const chat: Ask = async (question, connection) => {
  const { prompt, stream, show } = question
  const { completions } = (await openaiAt(connection, question)).chat
  const body = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: prompt }] }
  let reason: string | null | undefined
  const take = (choice: { finish_reason: string | null } | undefined, text: string | null | undefined) => {
    show(text ?? '')
    reason = choice?.finish_reason ?? reason
  }
  if (stream) {
    const chunks = await completions.create({ ...body, stream })
    await readAll(question, chunks, ({ choices: [choice] }) => take(choice, choice?.delta.content))
  } else {
    // A body that is empty is no response, whatever the types say.
    const answer: OpenAI.ChatCompletion | undefined = await completions.create(body)
    const choice = answer?.choices[0]
    take(choice, choice?.message.content)
  }
  return endOf(reason)
}

const responses: Ask = async (question, connection) => {
  const { prompt, stream, show } = question
  const client = await openaiAt(connection, question)
  const body = { model: 'gpt-4o', input: prompt }
  const endOfResponse = ({ status, incomplete_details: details }: OpenAI.Responses.Response): ResponseEnd =>
    status === 'completed' ? 'whole' : endOf(details?.reason)
  if (!stream) {
    const answer: OpenAI.Responses.Response | undefined = await client.responses.create(body)
    if (!answer) return 'incomplete'
    show(answer.output_text)
    return endOfResponse(answer)
  }
  let end: ResponseEnd = 'incomplete'
  await readAll(question, await client.responses.create({ ...body, stream }), (event) => {
    if (event.type === 'response.output_text.delta') show(event.delta)
    if (event.type === 'response.completed' || event.type === 'response.incomplete') end = endOfResponse(event.response)
  })
  return end
}

const messages: Ask = async (question, connection) => {
  const { prompt, stream, show } = question
  const { Anthropic } = await import('@anthropic-ai/sdk')
  const client = new Anthropic(settingsOf(connection.anthropic, connection, question))
  const asked = [{ role: 'user' as const, content: prompt }]
  const body = { model: 'claude-sonnet-4', max_tokens: 200, messages: asked }
  if (!stream) {
    const answer: Anthropic.Message | undefined = await client.messages.create(body)
    for (const block of answer?.content ?? []) if (block.type === 'text') show(block.text)
    return endOf(answer?.stop_reason)
  }
  let reason: string | null | undefined
  await readAll(question, await client.messages.create({ ...body, stream }), (event) => {
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') show(event.delta.text)
    if (event.type === 'message_delta') reason = event.delta.stop_reason
  })
  return endOf(reason)
}

/** The AI SDK has no timeout for a single try: apps give it a fetch that has one. */
const fetchWithin = (limit: number, fetch: typeof globalThis.fetch): typeof fetch =>
  Object.assign(
    async (input: string | URL | Request, init: RequestInit = {}) => {
      const late = new AbortController()
      const timer = setTimeout(() => late.abort(new DOMException('no response in time', 'TimeoutError')), limit)
      const signals = init.signal ? [init.signal, late.signal] : [late.signal]
      try {
        return await fetch(input, { ...init, signal: AbortSignal.any(signals) })
      } finally {
        clearTimeout(timer)
      }
    },
    { preconnect: fetch.preconnect },
  )

interface AiSettings {
  baseURL?: string
  apiKey?: string
  fetch?: typeof fetch
}
const aiSdk =
  (modelAt: (settings: AiSettings) => Promise<LanguageModel>, api: 'openai' | 'anthropic'): Ask =>
  async ({ prompt, stream, limit, maxRetries, show }, connection) => {
    const { generateText, streamText } = await import('ai')
    const base = connection[api]
    const model = await modelAt({
      ...(base !== undefined && { baseURL: base }),
      ...(connection.key !== undefined && { apiKey: connection.key }),
      ...(connection.fetch && { fetch: connection.fetch }),
      ...(limit !== undefined && { fetch: fetchWithin(limit, connection.fetch ?? fetch) }),
    })
    const asked = { model, prompt, maxRetries, maxOutputTokens: 200 }
    if (!stream) {
      const { text, finishReason } = await generateText(asked)
      show(text)
      return endOf(finishReason)
    }
    let reason: string | undefined
    const streamed = streamText({
      ...asked,
      ...(limit !== undefined && { timeout: { chunkMs: limit } }),
      onError() {},
    })
    for await (const part of streamed.fullStream) {
      if (part.type === 'text-delta') show(part.text)
      if (part.type === 'finish') reason = part.finishReason
      if (part.type === 'error') throw part.error
      if (part.type === 'abort') throw new DOMException('nothing came any more', 'TimeoutError')
    }
    return endOf(reason)
  }

const openaiModel = async (settings: AiSettings) => (await import('@ai-sdk/openai')).createOpenAI(settings)('gpt-4o')
const anthropicModel = async (settings: AiSettings) =>
  (await import('@ai-sdk/anthropic')).createAnthropic(settings)('claude-sonnet-4')

const ASKS = {
  'openai chat': chat,
  'openai responses': responses,
  '@anthropic-ai/sdk': messages,
  'AI SDK (openai)': aiSdk(openaiModel, 'openai'),
  'AI SDK (anthropic)': aiSdk(anthropicModel, 'anthropic'),
} satisfies Record<string, Ask>

/** What an app is built with. */
export type AppKind = keyof typeof ASKS
/** All of them. */
export const APP_KINDS = Object.keys(ASKS) as AppKind[]

/** Whom a careful app asks when its own provider cannot help: the other one, in the same package where there is such. */
const SPARES: Record<AppKind, AppKind> = {
  'openai chat': '@anthropic-ai/sdk',
  'openai responses': '@anthropic-ai/sdk',
  '@anthropic-ai/sdk': 'openai chat',
  'AI SDK (openai)': 'AI SDK (anthropic)',
  'AI SDK (anthropic)': 'AI SDK (openai)',
}

/** What the user of an app gets to see in the end. */
export interface Seen {
  text: string
  /** Whether the text is shown as a whole response. */
  end: 'response' | 'told of the filter' | 'told of the failure' | 'a part of a response' | 'nothing'
  /** What the app caught last, if anything. */
  error?: string
}

/** How an app behaves. */
export const MANNERS = ['careful', 'careless', 'hammering'] as const
export type Manner = (typeof MANNERS)[number]

/** One question of an app: who asks, how, and what. */
export interface AppCall {
  kind: AppKind
  stream: boolean
  prompt: string
  connection: Connection
  /** Milliseconds of silence after which a careful app ends a call. */
  limit?: number
}

/** How long careful apps wait in silence unless told otherwise, in ms. */
export const CAREFUL_LIMIT_MS = 10_000
const RETRIES = 2
/** Before each try: a back-off. */
const PAUSES_MS = [0, 500, 1_000]

/** What the errors of the packages have: the last error of several tries, or the status of a response. */
interface PackageError {
  lastError?: unknown
  statusCode?: number
  status?: number
}
const fieldsOf = (error: unknown): PackageError => (error instanceof Error ? (error as PackageError) : {})

/** The status of a response that a package has refused. */
function statusOf(error: unknown): number | undefined {
  const { lastError, statusCode, status } = fieldsOf(error)
  return lastError === undefined ? (statusCode ?? status) : statusOf(lastError)
}

/** Whether the request itself is wrong, so that nobody should repeat it. */
function isFinal(error: unknown): boolean {
  const status = statusOf(error) ?? 500
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

/** Whether the package has repeated the call already. */
const isRepeated = (error: unknown): boolean =>
  fieldsOf(error).lastError !== undefined ||
  /^APIConnection(?:Timeout)?Error$/.test(nameOf(error)) ||
  (statusOf(error) ?? 0) >= 400

function nameOf(error: unknown): string {
  const { lastError } = fieldsOf(error)
  if (lastError !== undefined) return nameOf(lastError)
  if (!(error instanceof Error)) return String(error)
  return error.name === 'Error' ? error.constructor.name : error.name
}

/** What came of one try. */
interface Try {
  text: string
  end?: ResponseEnd
  thrown?: unknown
}

async function attempt(ask: Ask, question: Omit<Question, 'show'>, connection: Connection): Promise<Try> {
  let text = ''
  const show = (more: string) => {
    text += more
  }
  try {
    const end = await ask({ ...question, show }, connection)
    return { text, end }
  } catch (thrown) {
    return { text, thrown }
  }
}

/**
 * A careful app: it has a timeout, leaves retries to its package, repeats what that does not (incomplete responses, broken bodies,
 * timeouts of its own) with pauses, asks another provider then, and tells its user what cannot be helped.
 */
async function askCarefully({ kind, stream, prompt, connection, limit = CAREFUL_LIMIT_MS }: AppCall): Promise<Seen> {
  const question = { prompt, stream, limit, maxRetries: RETRIES }
  let error = ''
  for (const asked of [kind, SPARES[kind]]) {
    for (const pause of PAUSES_MS) {
      if (pause > 0) await Bun.sleep(pause)
      const { text, end, thrown } = await attempt(ASKS[asked], question, connection)
      if (end === 'whole') return { text, end: 'response' }
      if (end === 'filtered') return { text, end: 'told of the filter' }
      error = end ? 'an incomplete response' : nameOf(thrown)
      if (isFinal(thrown)) return { text: '', end: 'told of the failure', error }
      if (isRepeated(thrown)) break
    }
  }
  return { text: '', end: 'told of the failure', error }
}

const MANY_TRIES = 25

/** A careless app: it has no timeout, repeats nothing or everything at once, and shows what it has, whole or not. */
async function askCarelessly({ kind, stream, prompt, connection }: AppCall, tries: number): Promise<Seen> {
  const { text, end, thrown } = await attempt(
    ASKS[kind],
    { prompt, stream, limit: undefined, maxRetries: 0 },
    connection,
  )
  const error = thrown === undefined ? {} : { error: nameOf(thrown) }
  if (text !== '') return { text, end: end === 'whole' ? 'response' : 'a part of a response', ...error }
  if (tries > 1) return askCarelessly({ kind, stream, prompt, connection }, tries - 1)
  return { text, end: 'nothing', ...error }
}

/** Asks one question, in the manner of an app. */
export function ask(call: AppCall, manner: Manner): Promise<Seen> {
  return manner === 'careful' ? askCarefully(call) : askCarelessly(call, manner === 'hammering' ? MANY_TRIES : 1)
}
