// An interaction as a YAML document for review, and back.
import type { FormField, Frame, Interaction, RecordedAttempt, UpstreamBody } from '../contract/core/cassette.ts'
import { printableLine } from '../lib/printable.ts'
import { counted } from '../lib/units.ts'
import { cutWhole } from '../lib/well-formed.ts'
import { type FrameProblem, frameForm, frameLines, isBinary, readFrames, timeMark } from './frames.ts'
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
interface DocumentOptions {
  id: string
  /** The JSON body without what stands in an interaction above. */
  reduced: ReducedBody
}

/** The document of an interaction: a line for people, then YAML. */
export function interactionText(interaction: Interaction, { id, reduced }: DocumentOptions): InteractionText {
  const blobs = new Map<string, Uint8Array>()
  const { request, turn, attempts } = interaction
  const lines = [
    `# ${summaryOf(interaction)}`,
    `id:${scalarText(id, '  ')}`,
    `turn: ${turn}`,
    'request:',
    `  provider:${scalarText(request.provider, '    ')}`,
    `  operation:${scalarText(request.operation, '    ')}`,
    `  model:${scalarText(request.model, '    ')}`,
    `  path:${scalarText(request.path, '    ')}`,
  ]
  if (Object.keys(request.headers).length > 0) lines.push(`  headers:${valueText(request.headers, '    ')}`)
  lines.push(...bodyLines(request.body, reduced), 'attempts:')
  for (const attempt of attempts) lines.push(...attemptLines(attempt, blobs))
  return { text: `${lines.join('\n')}\n`, blobs }
}

function bodyLines(body: UpstreamBody, { value, repeats }: ReducedBody): string[] {
  switch (body.kind) {
    case 'json':
      if (!fitsYaml(value)) return [`  json:${scalarText(JSON.stringify(body.value), '    ')}`]
      return [
        ...(Object.keys(repeats).length > 0 ? [`  repeats:${valueText(repeats, '    ')}`] : []),
        `  body:${valueText(value, '    ')}`,
      ]
    case 'form':
      return [`  form:${valueText(body.fields, '    ')}`]
    case 'text':
      return [`  text:${scalarText(body.text, '    ')}`]
  }
}

function attemptLines({ response, end, reason, endedAt }: RecordedAttempt, blobs: Map<string, Uint8Array>): string[] {
  const lines: string[] = []
  if (response) {
    lines.push(`status: ${response.status}`)
    if (response.headers.length > 0)
      lines.push(
        `headers:${valueText(
          response.headers.map(([name, value]) => ({ [name]: value })),
          '      ',
        )}`,
      )
    lines.push(`at: ${timeText(response.at)}`, ...frameFields(response.frames, blobs))
    if (response.omitted !== undefined) lines.push(`omitted: ${response.omitted}`)
  }
  lines.push(
    `end: ${end}`,
    ...(reason === undefined ? [] : [`reason:${scalarText(reason, BLOCK_PAD)}`]),
    `ended: ${timeText(endedAt)}`,
  )
  return lines.map((line, index) => `${index === 0 ? '  - ' : '    '}${line}`)
}

const timeText = (ms: number) => timeMark(ms).slice(1)
const BLOCK_PAD = '      '

function frameFields(frames: readonly Frame[], blobs: Map<string, Uint8Array>): string[] {
  if (frames.length === 0) return []
  const bytes = Buffer.concat(frames.map((frame) => frame.bytes))
  if (isBinary(bytes)) {
    const name = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
    blobs.set(name, bytes)
    const sizes = frames.map((frame) => `${timeMark(frame.at)} ${counted(frame.bytes.length, 'byte')}`)
    return [`blob: ${name}`, `frames:${blockText(sizes.join('\n'), BLOCK_PAD)}`]
  }
  const form = frameForm(frames)
  return [`${form === 'events' ? 'frames' : 'body'}:${blockText(frameLines(frames, form), BLOCK_PAD)}`]
}

/** What a person reads first, such as `chat.completions gpt-4o, turn 2: 429, then 200 in 41 frames`. */
function summaryOf({ request, turn, attempts }: Interaction): string {
  const results = Map.groupBy(attempts.entries(), ([index, attempt]) => {
    // Only attempts that follow each other count together.
    let first = index
    while (first > 0 && resultOf(attempts[first - 1]) === resultOf(attempt)) first--
    return first
  })
  const shown = [...results.values()].map((same) => {
    const text = resultOf(same[0]?.[1])
    return same.length > 1 ? `${text} (${same.length} times)` : text
  })
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

/** A parsed document as an interaction without the parts that it repeats, or what is wrong in it. */
export type ReadDocument =
  | { turn: number; request: Interaction['request']; reduced: ReducedBody; attempts: RecordedAttempt[] }
  | { problem: DocumentProblem }

/**
 * Reads a parsed document.
 * @param blob the content of a binary body by its name, or what is wrong with it
 */
export function readDocument(
  { turn, request, attempts }: InteractionDocument,
  blob: (name: string) => Uint8Array | string,
): ReadDocument {
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
        return { kind: 'json', value: JSON.parse(request.json ?? '') }
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
