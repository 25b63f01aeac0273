// Identifies requests with the same content, whatever their API, model and settings: reads instructions, turns of the conversation,
// tools and response format in one form.
import { canonicalJson } from './canonical.ts'
import { fingerprint } from './ids.ts'
import { asList, asObject, asText, type JsonObject, objectsIn, parsedJson } from './values.ts'
import { type VolatilePart, withoutVolatile } from './volatile.ts'

/** The content of a request. Texts are stored as fingerprints. */
export interface Question {
  /** Equal for requests with the same content in any API: the whole conversation, tools, files, response format. */
  id: string
  /** Also equal for requests that differ in times, dates and random ids. */
  template: string
  /** Those times, dates and ids. */
  volatile: readonly VolatilePart[]
  /** The turns of the conversation, oldest first, without times and ids. */
  turns: readonly string[]
  /** A fingerprint of all turns. */
  dialogue: string
  /** The instructions, without times and ids. */
  instructions: string
  /** Set for a request that asks the model to continue its own text. */
  continues: Continuation | undefined
  /** Entries of a batch, such as texts to embed, each with the rest of the request. */
  entries: readonly string[]
  /** Fingerprints and lengths of its parts, with times and ids. */
  exact: ExactParts
  /** A fingerprint of the text of the model's last turn, without spaces. */
  lastModelText: string | undefined
  /** The tool results in its last turn. */
  results: readonly ResultNote[]
}

/** A part of a prompt. */
interface ExactPart {
  print: string
  /** Characters. */
  size: number
}

/** The parts of a prompt in order, with the oldest turn first. */
interface ExactParts {
  tools: ExactPart
  system: ExactPart
  turns: readonly ExactPart[]
}

/** A request to continue a text of the model. */
interface Continuation {
  /** The dialogue before that text. */
  dialogue: string
  /** That text, without spaces. */
  text: string
}

/** Reads the content of a request body. */
export function readQuestion(text: string): Question {
  const parts = questionParts(parsedJson(text))
  if (!parts) return opaqueQuestion(fingerprint(text))
  const { system, turns, entries, rest } = parts
  const volatile: VolatilePart[] = []
  const masked = (part: string): string => {
    const found = withoutVolatile(part)
    volatile.push(...found.parts)
    return found.text
  }
  const maskedSystem = masked(system)
  const prints = turns.map(({ side, parts: pieces, text: turnText }) =>
    fingerprint(JSON.stringify([side, ...pieces.map(masked), masked(turnText)])),
  )
  const whole = turns.map(({ side, parts: pieces, text: turnText }) => JSON.stringify([side, ...pieces, turnText]))
  const last = turns.findLast(({ side }) => side === 'model')
  const batch = turns.length > 0 ? [] : entries
  return {
    id: fingerprint(`${JSON.stringify([system, batch, rest])}${whole.join()}`),
    template: fingerprint(JSON.stringify([maskedSystem, prints, batch.map(masked), masked(rest)])),
    volatile,
    turns: prints,
    dialogue: dialogueOf(prints),
    instructions: fingerprint(maskedSystem),
    continues: continuationIn(parts, prints),
    entries: entries.map((entry) => fingerprint(`${rest} ${entry}`)),
    exact: {
      tools: exactPart(rest),
      system: exactPart(system),
      turns: whole.map(exactPart),
    },
    lastModelText: last && textFingerprint(last.text),
    results: turns.at(-1)?.results ?? [],
  }
}

/** A request of unknown content, which equals only itself. */
export const opaqueQuestion = (id: string): Question => ({
  ...{ id, template: id, volatile: [], turns: [], dialogue: id, instructions: id, continues: undefined, entries: [] },
  ...{ exact: { tools: NO_PART, system: NO_PART, turns: [] }, lastModelText: undefined, results: [] },
})
const NO_PART: ExactPart = { print: '', size: 0 }

const exactPart = (text: string): ExactPart => ({ print: fingerprint(text), size: text.length })

/** A fingerprint of a request body, whatever the order of its keys: some languages write them in another one each time. */
export const requestPrint = (text: string): string => fingerprint(canonicalText(text))

/** A fingerprint of the content of a request. */
export const questionOf = (text: string): string => readQuestion(text).id

const dialogueOf = (turns: readonly string[]) => fingerprint(turns.join())

/** Phrases of people and programs for a model that was cut off. A new question is not one. */
const GO_ON =
  /\b(?:continu\w*|contin[uú]a\w*|go(?:ing)? on|carry on|keep going|proceed|resume|finish|complete|left off|pick up|rest of|remainder|remaining|cut off|interrupted|keep \w+ing|weiter\w*|fortfahren|fahre? fort|prosegui\w*|suite)\b|继续|繼續|続け|계속/i

function continuationIn({ turns }: QuestionParts, prints: readonly string[]): Continuation | undefined {
  const last = turns.at(-1)
  const continuesAt = last?.side === 'user' && last.parts.length === 0 && GO_ON.test(last.text) ? 1 : 0
  const at = turns.length - 1 - continuesAt
  const continued = turns[at]
  if (continued?.side !== 'model' || at < 1) return undefined
  const ownText = withoutSpaces(continued.text)
  return ownText === '' ? undefined : { dialogue: dialogueOf(prints.slice(0, at)), text: ownText }
}

/** A text without spaces: SDKs trim texts, and join them in different ways. */
const withoutSpaces = (text: string): string => text.replace(/\s+/g, '')

/** The text of a stored response of any API, without spaces. */
export function responseText(answer: unknown): string {
  const [whole = {}] = objectsIn([answer])
  const { choices, output, content } = whole
  const messages = objectsIn(choices).flatMap(({ message, text }) => [...objectsIn([message]), { content: text }])
  const items = [...messages, ...objectsIn(output), { content }]
  return withoutSpaces(items.flatMap((item) => contentTexts(item.content)).join(''))
}

/** A fingerprint of a text without spaces, as in `lastModelText`. */
export const textFingerprint = (text: string): string => fingerprint(withoutSpaces(text))

/** A tool result in a request. */
export interface ResultNote {
  /** Id of the call, without the prefix that each API has. */
  call: string
  /** `error` if it reports a failure, or nothing at all; otherwise JSON data or plain text. */
  as: 'error' | 'data' | 'text'
}

/** The consecutive messages of one side. */
interface RequestTurn {
  side: 'user' | 'model'
  /** Tool results, files and tool calls, in order. */
  parts: string[]
  results: ResultNote[]
  /** All its texts, joined. */
  text: string
}

/** A request without its model, its settings and its encoding. */
interface QuestionParts {
  system: string
  turns: readonly RequestTurn[]
  /** Entries of a batch, such as texts to embed. */
  entries: readonly string[]
  /** Everything else that distinguishes requests: tools, the response format, stored conversation state. */
  rest: string
}

/** One message, item or block, in pieces. */
interface Pieces {
  texts: string[]
  parts: string[]
  results: ResultNote[]
}

/** The parts of a request body; undefined if it is not a JSON object. */
function questionParts(body: unknown): QuestionParts | undefined {
  const fields = asObject(body)
  if (!fields) return undefined
  const { messages, input } = fields
  const conversation =
    [messages, input].find((items) => isConversation(items)) ?? (typeof input === 'string' ? [input] : undefined)
  if (!conversation) return batchParts(fields)
  const system: string[] = [...contentTexts(fields.system), ...contentTexts(fields.instructions)]
  const turns: RequestTurn[] = []
  for (const one of asList(conversation)) {
    const item = asObject(one) ?? { role: 'user', content: one }
    if (SYSTEM_ROLES.includes(asText(item.role) ?? '')) system.push(...contentTexts(item.content))
    else addTurn(turns, sideOf(item), piecesOf(item))
  }
  const entries = typeof input === 'string' ? [entryOf(input)] : []
  return { system: joined(system), turns, entries, rest: canonicalJson(restOf(fields)) }
}

/** The parts of a request without a conversation: texts to embed, moderate or rank, images, sound. */
function batchParts({ input, prompt, documents, ...others }: JsonObject): QuestionParts {
  const batch = [input, prompt, documents].find(Array.isArray)
  const entries = batch === undefined ? [] : isTokens(batch) ? [batch] : batch
  const rest =
    batch === undefined ? { input, prompt, ...others } : { ...others, ...(batch === documents && { input, prompt }) }
  return { system: '', turns: [], entries: entries.map(entryOf), rest: canonicalJson(contentOf(rest)) }
}

const isTokens = (batch: readonly unknown[]) => typeof batch[0] === 'number'

const SYSTEM_ROLES = ['system', 'developer']
const MODEL_ITEMS = /^(?:reasoning|[a-z_]+_call)$/

const sideOf = ({ role, type }: JsonObject): RequestTurn['side'] =>
  role === 'assistant' || role === 'model' || (role === undefined && MODEL_ITEMS.test(asText(type) ?? ''))
    ? 'model'
    : 'user'

const ITEMS = /^(?:message|reasoning|item_reference|[a-z_]+_call(?:_output)?)$/
const isConversation = (items: unknown): boolean =>
  objectsIn(items).some(({ role, type }) => role !== undefined || ITEMS.test(asText(type) ?? ''))

function addTurn(turns: RequestTurn[], side: RequestTurn['side'], { texts, parts, results }: Pieces): void {
  if (texts.length === 0 && parts.length === 0) return
  const last = turns.at(-1)
  const turn = last?.side === side ? last : { side, parts: [], results: [], text: '' }
  if (turn !== last) turns.push(turn)
  turn.parts.push(...parts)
  turn.results.push(...results)
  turn.text = joined([turn.text, ...texts])
}

const joined = (texts: readonly string[]) =>
  texts
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join('\n')

/** The texts of a message's content: the content itself, or those of its parts. */
const contentTexts = (content: unknown): string[] =>
  typeof content === 'string' ? [content] : objectsIn(content).flatMap(({ text }) => asText(text) ?? [])

/** The pieces of a chat message, an item of a response, or a message of Anthropic's API. */
function piecesOf(item: JsonObject): Pieces {
  const pieces: Pieces = { texts: [], parts: [], results: [] }
  const { role, type, content, tool_calls, output } = item
  if (role === 'tool' || role === 'function') addResult(pieces, { id: item.tool_call_id, content })
  else if (output !== undefined && /_output$/.test(asText(type) ?? ''))
    addResult(pieces, { id: item.call_id, content: output })
  else if (/_call$/.test(asText(type) ?? '')) pieces.parts.push(callOf(item))
  else if (typeof content === 'string') pieces.texts.push(content)
  else for (const block of objectsIn(content)) addBlock(pieces, block)
  for (const call of objectsIn(tool_calls)) pieces.parts.push(callOf(asObject(call.function) ?? call))
  return pieces
}

/** Reasoning is not part of the request, and its format differs between APIs. */
const THOUGHTS = /thinking|reasoning/

function addBlock(pieces: Pieces, block: JsonObject): void {
  const { texts, parts } = pieces
  const { type, text, refusal } = block
  const ownText = asText(text) ?? asText(refusal)
  if (THOUGHTS.test(asText(type) ?? '')) return
  if (ownText !== undefined) texts.push(ownText)
  else if (type === 'tool_use') parts.push(callOf({ name: block.name, arguments: block.input }))
  else if (type === 'tool_result')
    addResult(pieces, { id: block.tool_use_id, content: block.content, failed: block.is_error === true })
  else parts.push(fileOf(block))
}

/** Words of error messages, in common languages. */
const FAILURE =
  /err(?:or|eur|ore)|exception|invalid|malformed|incomplet|incompl[eè]t|truncat|tronqu|trunc|cut off|fail|unable|unknown|unexpected|missing|not (?:valid|complete|found|executed|parse|run)|no se p|could ?n[o']t|can(?:not|'t)|did ?n[o']t|pars(?:e|ing)|retry|try again|please|again|clarif|rejected|refused|denied|skipped|aborted|cancel|"(?:ok|success|succeeded)"\s*:\s*false|"status(?:_?code)?"\s*:\s*[45]\d\d|fehl|ung[uü]ltig|unvollst|abgeschnitten|erreur|invalide|impossible|errore|non valid|inv[aá]lid|fall[oó]|erro|ongeldig|fout|mislukt|ошибк|невер|неполн|обрыв|错误|錯誤|无效|無效|失败|失敗|截断|截斷|不完整|エラー|無効|不正|切れ|오류|잘못|실패/i

/** Results that show nothing of a tool: empty values in JSON. */
const NOTHING = new Set(['', 'null', 'false', '""', '[]', '{}'])

/** Whether a JSON value is data and not text. */
const isData = (value: unknown): boolean => value !== undefined && typeof value !== 'string'

function addResult(
  { parts, results }: Pieces,
  { id, content, failed = false }: { id: unknown; content: unknown; failed?: boolean },
): void {
  parts.push(resultOf(content))
  const call = asText(id)
  if (call === undefined) return
  const text = typeof content === 'string' ? content : contentTexts(content).join('\n')
  const isFailure = failed || NOTHING.has(text.trim()) || FAILURE.test(text)
  results.push({ call: callId(call), as: isFailure ? 'error' : isData(parsedJson(text)) ? 'data' : 'text' })
}

/** A tool call id without the prefix of its API, which compatible APIs replace. */
export const callId = (id: string): string => id.replace(/^(?:call|toolu)_/, '')

function callOf({ name, arguments: args, input }: JsonObject): string {
  const value = args ?? input ?? {}
  return `call ${asText(name)} ${typeof value === 'string' ? canonicalText(value) : canonicalJson(value)}`
}

function canonicalText(text: string): string {
  const value = parsedJson(text)
  return value === undefined ? text : canonicalJson(value)
}

function resultOf(content: unknown): string {
  if (typeof content === 'string') return `result ${content.trim()}`
  const blocks = objectsIn(content)
  if (blocks.length === 0) return `result ${content === undefined ? '' : canonicalJson(content)}`
  return `result ${blocks.map(({ text, ...block }) => asText(text)?.trim() ?? fileOf(block)).join('\n')}`
}

/** A file by its content or its URL. Its name and level of detail are ignored. */
function fileOf(block: JsonObject): string {
  const found = payloadIn(block)
  if (found === undefined) return `part ${canonicalJson(block)}`
  const digits = fingerprint(found.replace(/^data:[^,]*,/, ''))
  return `file ${digits.slice(0, 8)}.${digits.slice(8)}`
}

const PAYLOADS = ['data', 'file_data', 'b64_json', 'url', 'image_url', 'file_url', 'file_id', 'base64', 'bytes']
function payloadIn(block: JsonObject): string | undefined {
  for (const key of PAYLOADS) {
    const value = asText(block[key])
    if (value !== undefined) return value
  }
  for (const value of Object.values(block)) {
    const inner = asObject(value)
    const found = inner && payloadIn(inner)
    if (found !== undefined) return found
  }
  return undefined
}

const entryOf = (entry: unknown): string => (typeof entry === 'string' ? entry.trim() : canonicalJson(entry))

/** Everything in a request besides the conversation. */
function restOf(fields: JsonObject): JsonObject {
  const { previous_response_id: previous, conversation, inputs, variables, prompt } = fields
  const tools = objectsIn(fields.tools ?? fields.functions)
  const answer = formOf(fields)
  const rest = { previous, conversation, inputs, variables, prompt }
  const own = tools.filter((tool) => !(answer?.tool && nameOf(tool) === answer.tool))
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value != null)),
    ...(own.length > 0 && { tools: own.map(toolOf).sort() }),
    ...(answer && { answer: answer.schema }),
  }
}

const nameOf = (tool: JsonObject): string =>
  asText(asObject(tool.function)?.name) ??
  asText(tool.name) ??
  (asText(tool.type) ?? '').replace(/_(?:preview.*|\d{8})$/, '')

function toolOf(tool: JsonObject): string {
  const { description, parameters, input_schema } = asObject(tool.function) ?? tool
  return canonicalJson([nameOf(tool), asText(description)?.trim() ?? '', shapeOf(parameters ?? input_schema)])
}

/** The name that SDKs give to the tool for JSON responses, where the API has no other way. */
const ANSWER_TOOL = 'json'

/** The required response format: by a field of its own, or by a tool that must be called. */
function formOf(fields: JsonObject): { schema: unknown; tool?: string } | undefined {
  const format = asObject(fields.response_format) ?? asObject(asObject(fields.text)?.format)
  const output = asObject(fields.output_format) ?? asObject(asObject(fields.output_config)?.format)
  const schema = asObject(format?.json_schema)?.schema ?? format?.schema ?? output?.schema
  if (schema !== undefined) return { schema: shapeOf(schema) }
  if (format?.type === 'json_object') return { schema: null }
  const tool = objectsIn(fields.tools).find((one) => nameOf(one) === ANSWER_TOOL)
  return tool && { schema: shapeOf(tool.input_schema ?? asObject(tool.function)?.parameters), tool: ANSWER_TOOL }
}

/** The values that a schema allows, without what SDKs add for one provider or another. */
function shapeOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(shapeOf)
  const fields = asObject(schema)
  if (!fields) return schema ?? null
  const kept = SHAPE.filter((key) => fields[key] !== undefined).map((key) => {
    const value = fields[key]
    const inner =
      key === 'properties' ? Object.entries(asObject(value) ?? {}).map(([name, one]) => [name, shapeOf(one)]) : []
    return [key, key === 'properties' ? Object.fromEntries(inner) : key === 'enum' ? value : shapeOf(value)]
  })
  return Object.fromEntries(kept)
}
const SHAPE = ['type', 'properties', 'items', 'enum', 'anyOf', 'oneOf', 'allOf', '$defs', '$ref', 'const']

/** Fields that change how a request is processed, but not what it requests. */
const SETTINGS = new Set([
  ...['model', 'models', 'stream', 'stream_options', 'temperature', 'top_p', 'top_k', 'seed', 'n', 'stop', 'user'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'frequency_penalty', 'presence_penalty', 'logprobs'],
  ...['logit_bias', 'echo', 'best_of', 'metadata', 'store', 'service_tier', 'timeout', 'retry', 'fallbacks', 'cache'],
  ...['load_balancer', 'identity', 'thread', 'name', 'svc', 'encoding_format', 'dimensions', 'response_format'],
  ...['quality', 'size', 'speed', 'top_n', 'user_id', 'background', 'output_format', 'truncate', 'input_type'],
])

const contentOf = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !SETTINGS.has(key)))
