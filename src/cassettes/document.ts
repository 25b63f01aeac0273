// An interaction as a YAML document for review, and back.
import type { FormField, Frame, Interaction, RecordedAttempt, UpstreamBody } from '../contract/core/cassette.ts'
import { exactJson, exactJsonText } from '../lib/exact-json.ts'
import { sha256 } from '../lib/ids.ts'
import { printableLine } from '../lib/printable.ts'
import { counted } from '../lib/units.ts'
import { cutWhole } from '../lib/well-formed.ts'
import {
  type FrameProblem,
  frameForm,
  frameLines,
  isBinary,
  joinFrames,
  readFrames,
  timeMark,
  usualText,
} from './frames.ts'
import type { ReducedBody } from './repeats.ts'
import type { AttemptDocument, InteractionDocument } from './schema.ts'
import { blockText, fitsYaml, scalarText, valueText } from './value-text.ts'

/** A document as it is written. */
export interface InteractionText {
  text: string
  /** Content of its binary bodies, by SHA-256. */
  blobs: ReadonlyMap<string, Uint8Array>
}

/** What a document has besides its interaction. */
export interface DocumentOptions {
  id: string
  /** The JSON body without what stands in an interaction above. */
  reduced: ReducedBody
}

/** The document of an interaction: a line for people, then YAML. */
export function interactionText(interaction: Interaction, options: DocumentOptions): InteractionText {
  const blobs = new Map<string, Uint8Array>()
  const document = documentOf(interaction, options, blobs)
  return { text: yamlText(document, `# ${summaryOf(interaction)}`), blobs }
}

function documentOf(
  { request, turn, attempts }: Interaction,
  { id, reduced }: DocumentOptions,
  blobs: Map<string, Uint8Array>,
): InteractionDocument {
  const { provider, operation, model, path, headers, body } = request
  return {
    id,
    turn,
    request: { provider, operation, model, path, headers: { ...headers }, ...bodyFields(body, reduced) },
    attempts: attempts.map((attempt) => attemptDocument(attempt, blobs)),
  }
}

function bodyFields(body: UpstreamBody, { value, repeats }: ReducedBody): Partial<InteractionDocument['request']> {
  switch (body.kind) {
    case 'json':
      if (!fitsYaml(value)) return { json: exactJsonText(body.value) }
      return { ...(Object.keys(repeats).length > 0 && { repeats }), body: value }
    case 'form':
      return { form: [...body.fields] }
    case 'text':
      return { text: body.text }
  }
}

function attemptDocument(
  { response, end, reason, endedAt }: RecordedAttempt,
  blobs: Map<string, Uint8Array>,
): AttemptDocument {
  const about = { end, reason, ended: timeText(endedAt) }
  if (!response) return about
  const { status, headers, at, frames, omitted } = response
  const named = headers.map(([name, value]) => ({ [name]: value }))
  return { status, headers: named, at: timeText(at), ...frameFields(frames, blobs), omitted, ...about }
}

const timeText = (ms: number) => timeMark(ms).slice(1)

function frameFields(
  frames: readonly Frame[],
  blobs: Map<string, Uint8Array>,
): Pick<AttemptDocument, 'frames' | 'body' | 'blob'> {
  if (frames.length === 0) return {}
  const bytes = joinFrames(frames)
  const usual = usualText(bytes)
  if (usual === undefined && isBinary(bytes)) {
    const blob = sha256(bytes)
    blobs.set(blob, bytes)
    const sizes = frames.map((frame) => `${timeMark(frame.at)} ${counted(frame.bytes.length, 'byte')}`)
    return { blob, frames: `${sizes.join('\n')}\n` }
  }
  const form = frameForm(frames)
  return { [form === 'events' ? 'frames' : 'body']: `${frameLines(frames, form, usual)}\n` }
}

/** A document as YAML, below its line for people. */
export function yamlText({ id, turn, request, attempts }: InteractionDocument, firstLine: string): string {
  let text = `${firstLine}\nid:${scalarText(id, '  ')}\nturn: ${turn}\nrequest:`
  for (const name of REQUEST_FIELDS) {
    const value = request[name]
    const isLeftOut = value === undefined || (name === 'headers' && Object.keys(request.headers).length === 0)
    if (!isLeftOut) text += `\n  ${name}:${valueText(value, '    ')}`
  }
  text += '\nattempts:'
  for (const attempt of attempts) {
    let start = '\n  - '
    for (const name of ATTEMPT_FIELDS) {
      const field = fieldText(name, attempt[name])
      if (field === undefined) continue
      text += `${start}${name}:${field}`
      start = '\n    '
    }
  }
  return `${text}\n`
}

const REQUEST_FIELDS = [
  ...(['provider', 'operation', 'model', 'path', 'headers'] as const),
  ...(['repeats', 'body', 'json', 'form', 'text'] as const),
]
const ATTEMPT_FIELDS = [
  ...(['status', 'headers', 'at', 'blob', 'frames', 'body', 'omitted'] as const),
  ...(['end', 'reason', 'ended'] as const),
]
const PAD = '      '

function fieldText(name: (typeof ATTEMPT_FIELDS)[number], value: unknown): string | undefined {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return undefined
  if ((name === 'frames' || name === 'body') && typeof value === 'string') return blockText(value, PAD)
  // A time needs no quotes, although it begins with a digit.
  return name === 'at' || name === 'ended' ? ` ${value}` : valueText(value, PAD)
}

/** What a person reads first, such as `chat.completions gpt-4o, turn 2: 429, then 200 in 41 frames`. */
function summaryOf({ request, turn, attempts }: Interaction): string {
  const shown: string[] = []
  for (let index = 0; index < attempts.length; ) {
    const result = resultOf(attempts[index])
    const first = index
    while (index < attempts.length && resultOf(attempts[index]) === result) index++
    shown.push(index - first > 1 ? `${result} (${index - first} times)` : result)
  }
  const subject = cutWhole(`${request.operation} ${request.model}`, 200)
  return printableLine(`${subject}, turn ${turn}: ${shown.join(', then ')}`)
}

function resultOf(attempt: RecordedAttempt | undefined): string {
  if (!attempt) return ''
  const { response, end, reason } = attempt
  if (!response) return reason ?? end
  const { length } = response.frames
  const frames = length > 1 ? ` in ${length} frames` : ''
  return `${response.status}${frames}${end === 'complete' ? '' : `, ${end}`}`
}

/** What is wrong in a document beyond its schema; a line counts from the first line of the value at the path. */
export interface DocumentProblem {
  path: readonly (string | number)[]
  message: string
  line?: number
}

/**
 * Reads a parsed document: an interaction without the parts that it repeats, or what is wrong in it.
 * @param blob the content of a binary body by its name, or what is wrong with it
 */
export function readDocument(
  { turn, request, attempts }: InteractionDocument,
  blob: (name: string) => Uint8Array | string,
): (Omit<Interaction, 'started'> & { reduced: ReducedBody }) | { problem: DocumentProblem } {
  const body = readBody(request)
  if ('problem' in body) return body
  const read: RecordedAttempt[] = []
  for (const [index, attempt] of attempts.entries()) {
    const one = readAttempt(attempt, blob)
    if ('problem' in one) return { problem: { ...one.problem, path: ['attempts', index, ...one.problem.path] } }
    read.push(one)
  }
  const { provider, operation, model, path, headers, repeats = {} } = request
  return {
    turn,
    request: { provider, operation, model, path, headers, body },
    reduced: { value: body.kind === 'json' ? body.value : null, repeats },
    attempts: read,
  }
}

const BODIES = ['body', 'json', 'form', 'text'] as const

function readBody(request: InteractionDocument['request']): UpstreamBody | { problem: DocumentProblem } {
  const [kind, other] = BODIES.filter((name) => Object.hasOwn(request, name))
  if (kind === undefined) return { problem: { path: ['request'], message: `needs one of ${BODIES.join(', ')}` } }
  if (other !== undefined)
    return {
      problem: { path: ['request', other], message: `cannot be given beside '${kind}': a request has one body` },
    }
  switch (kind) {
    case 'body':
      return { kind: 'json', value: request.body }
    case 'form':
      return { kind: 'form', fields: (request.form ?? []) as FormField[] }
    case 'text':
      return { kind: 'text', text: request.text ?? '' }
    case 'json':
      try {
        return { kind: 'json', value: exactJson(request.json ?? '') }
      } catch (error) {
        return { problem: { path: ['request', 'json'], message: `must be JSON: ${(error as Error).message}` } }
      }
  }
}

function readAttempt(
  attempt: AttemptDocument,
  blob: (name: string) => Uint8Array | string,
): RecordedAttempt | { problem: DocumentProblem } {
  const { status, headers = [], at, omitted, end, reason, ended } = attempt
  const about = { end, ...(reason !== undefined && { reason }), endedAt: msOf(ended) }
  if (status === undefined) {
    const extra = (['headers', 'at', 'frames', 'body', 'blob', 'omitted'] as const).find((name) => name in attempt)
    return extra ? { problem: { path: [extra], message: "needs a 'status' beside it" } } : about
  }
  if (at === undefined) return { problem: { path: ['at'], message: "is required beside 'status'" } }
  const named = headers.map((header) => Object.entries(header))
  const wrong = named.findIndex((entries) => entries.length !== 1)
  if (wrong >= 0) return { problem: { path: ['headers', wrong], message: "must be one 'name: value'" } }
  const frames = framesOf(attempt, blob)
  if ('problem' in frames) return frames
  const rest = omitted === undefined ? {} : { omitted }
  return { response: { status, headers: named.flat(), at: msOf(at), frames: frames.frames, ...rest }, ...about }
}

const msOf = (text: string) => Number(text.slice(0, -'ms'.length))

function framesOf(
  { frames, body, blob: name }: AttemptDocument,
  blob: (name: string) => Uint8Array | string,
): { frames: Frame[] } | { problem: DocumentProblem } {
  const problemAt = (field: string, { line, message }: FrameProblem) => ({ problem: { path: [field], line, message } })
  if (name !== undefined) {
    if (body !== undefined) return { problem: { path: ['body'], message: "cannot be given beside 'blob'" } }
    const bytes = blob(name)
    if (typeof bytes === 'string') return { problem: { path: ['blob'], message: bytes } }
    const read = slicedFrames(frames ?? `+0ms ${bytes.length} bytes`, bytes)
    return 'problem' in read ? problemAt('frames', read.problem) : read
  }
  if (frames !== undefined && body !== undefined)
    return { problem: { path: ['body'], message: "cannot be given beside 'frames': a response has one body" } }
  const text = frames ?? body
  if (text === undefined) return { frames: [] }
  const field = frames === undefined ? 'body' : 'frames'
  const read = readFrames(text, field === 'frames' ? 'events' : 'text')
  return 'problem' in read ? problemAt(field, read.problem) : read
}

/** The frames of a binary body, by lines such as `+120ms 4096 bytes`. */
function slicedFrames(text: string, bytes: Uint8Array): { frames: Frame[] } | { problem: FrameProblem } {
  const frames: Frame[] = []
  let from = 0
  const lines = text.replace(/\n$/, '').split('\n')
  for (const [line, written] of lines.entries()) {
    const [, at, size] = /^\+(\d{1,15})ms (\d{1,15}) bytes?$/.exec(written) ?? []
    if (at === undefined)
      return { problem: { line, message: "must be a time and a size, such as '+120ms 4096 bytes'" } }
    frames.push({ at: Number(at), bytes: bytes.subarray(from, from + Number(size)) })
    from += Number(size)
  }
  if (from === bytes.length) return { frames }
  return {
    problem: {
      line: lines.length - 1,
      message: `must end at the size of the file, ${bytes.length} bytes, got ${from}`,
    },
  }
}
