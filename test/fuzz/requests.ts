// Requests as data, made up from the description of the server: mostly right, so that they get far, and somewhere wrong.
import type { Described, Surface } from './document.ts'
import { hostileFile } from './documents.ts'
import { type Making, schemaValue } from './from-schema.ts'
import { BROKEN_BYTES, BROKEN_TEXTS, hostileText, hostileValue } from './hostile.ts'
import type { Chance } from './random.ts'
import { specialBody } from './special.ts'

/** A field of a form: a text, or a file with its bytes in base64. */
export type FormField = [name: string, value: string | { file: string; type: string; base64: string }]
/** One request, as it is printed and sent again. */
export interface FuzzRequest {
  method: string
  path: string
  headers: Record<string, string>
  /** JSON; `text` is sent as it is, and so are the bytes of `base64`. */
  body?: { json: unknown } | { text: string } | { base64: string } | { form: FormField[] }
}

/** The session of a client that behaves well. A request with this name could activate a scenario there, which then breaks its calls. */
export const POLITE_SESSION = 'polite'

/** An id or a name, and the beginning of the path that it was said at. */
export interface Known {
  name: string
  of: string
}
/** The beginning of a path, which is the same for what belongs together. */
export const collectionOf = (path: string): string => path.split('/', 3).join('/')

/** What requests are made up with. */
export interface Source extends Surface {
  chance: Chance
  /** Ids and names that the server has said. */
  known: readonly Known[]
  /** The session that most of them are for. */
  session: string
}

/** Makes up a request. */
export function makeRequest(source: Source): FuzzRequest {
  const { chance, operations, session } = source
  const operation = chance.oneIn(DOCUMENTS) ? toDocuments(source) : chance.pick(operations)
  const path = `${pathOf(operation, source)}${queryOf(operation, source)}`
  const headers: Record<string, string> = { authorization: 'Bearer fuzz', 'x-understudy-session': session }
  const method = chance.oneIn(60)
    ? chance.pick(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'POST'])
    : operation.method
  const body = method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? undefined : bodyOf(operation, source)
  if (body && !('form' in body)) headers['content-type'] = 'application/json'
  if (chance.oneIn(12)) Object.assign(headers, strangeHeaders(chance))
  return { method, path, headers, ...(body && { body }) }
}

/** One in so many is a step of those that lead to a document being read, which would hardly ever be picked one after the other. */
const DOCUMENTS = 40
const STEPS = ['/v2/files', '/v2/knowledge', '/v2/knowledge/{knowledge_id}/datasources', '/_understudy/seed']
const toDocuments = ({ chance, operations }: Source): Described => {
  const steps = operations.filter(({ method, path }) => method === 'POST' && STEPS.includes(path))
  return chance.pick(steps.length > 0 ? steps : operations)
}

const encoded = (text: string) => encodeURIComponent(text.toWellFormed()).slice(0, 6_000) || 'x'

function pathOf({ path }: Described, { chance, known }: Source): string {
  if (chance.oneIn(80))
    return chance.pick([
      '/',
      '//',
      '/v2',
      '/v2/%ED%A0%80',
      '/%00',
      '/../',
      '/s/',
      '/s/a%2fb/v2/tools',
      `/${'x'.repeat(5_000)}`,
    ])
  const near = known.filter(({ of }) => of === collectionOf(path))
  return path.replace(/\{\w+\}/g, () => {
    if (near.length > 0 && !chance.oneIn(8)) return encoded(chance.pick(near).name)
    if (known.length > 0 && !chance.oneIn(3)) return encoded(chance.pick(known).name)
    return chance.oneIn(3)
      ? chance.pick(['%ED%A0%80', '%zz', '%', '..', '%00', 'default'])
      : encoded(hostileText(chance))
  })
}

function queryOf({ query, path }: Described, source: Source): string {
  const { chance } = source
  const pairs = query
    .filter(() => chance.oneIn(3))
    .map(({ name, schema }) => [name, textIn(schemaValue(schema, making(source, 8)))])
  // A wait is real time, which is all that it would cost.
  if (path.endsWith('/verify')) pairs.push(['wait', chance.pick(['0', '1ms', 'x', '61s', '-1', ''])])
  if (chance.oneIn(40)) pairs.push([hostileText(chance), hostileText(chance)])
  if (pairs.length === 0) return ''
  return `?${pairs.map(([name = '', value = '']) => `${encoded(name)}=${encoded(value)}`).join('&')}`
}

const textIn = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

const making = ({ chance, resolve, known }: Source, sanity: number): Making => ({
  chance,
  resolve,
  known: known.map(({ name }) => name),
  sanity,
})

function bodyOf({ body, path }: Described, source: Source): FuzzRequest['body'] {
  const { chance } = source
  const files = source.known.filter(({ of }) => of === '/v2/files').map(({ name }) => name)
  const special = specialBody(path, chance, files)
  if (special !== undefined) return { json: special }
  if (chance.oneIn(30))
    return chance.oneIn(4) ? { base64: chance.pick(BROKEN_BYTES) } : { text: chance.pick(BROKEN_TEXTS) }
  if (!body) return chance.oneIn(4) ? { json: hostileValue(chance) } : undefined
  const example = body.examples.length > 0 && !chance.oneIn(3) ? structuredClone(chance.pick(body.examples)) : undefined
  let value = example ?? schemaValue(body.schema, making(source, 400))
  for (let count = chance.pick([0, 0, 0, 1, 1, 2, 3]); count > 0; count--) value = changed(value, source)
  if (body.type === 'json') return { json: path.endsWith('/clock') ? unfrozen(value) : value }
  return { form: formOf(value, chance) }
}

/** A frozen clock would hold every later call, as it should. */
const unfrozen = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'freeze' in value ? { advance: '1s' } : value

/** The value with one of its parts replaced, removed, doubled or added to. */
export function changed(value: unknown, source: Pick<Source, 'chance' | 'known'>): unknown {
  const { chance } = source
  if (typeof value !== 'object' || value === null || chance.oneIn(30)) return hostileValue(chance)
  const keys = Object.keys(value)
  const key = chance.pick(keys)
  if (key === undefined) return { [hostileText(chance)]: hostileValue(chance) }
  const copy: Record<string, unknown> = Array.isArray(value) ? ([...value] as never) : { ...value }
  if (typeof copy[key] === 'object' && copy[key] !== null && !chance.oneIn(4)) {
    copy[key] = changed(copy[key], source)
    return copy
  }
  switch (chance.below(4)) {
    case 0:
      delete copy[key]
      return Array.isArray(copy) ? copy.filter(() => true) : copy
    case 1:
      copy[key] = source.known.length > 0 ? chance.pick(source.known).name : hostileText(chance)
      return copy
    case 2:
      copy[key] = [copy[key], copy[key]]
      return copy
    default:
      copy[key] = hostileValue(chance)
      return copy
  }
}

/** A second of silence as a WAV file, whole and cut. */
function wave(chance: Chance): string {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + 16_000, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(chance.pick([1, 2, 0]), 22)
  header.writeUInt32LE(chance.pick([8_000, 0, 44_100]), 24)
  header.writeUInt32LE(16_000, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(16_000, 40)
  return Buffer.concat([header, Buffer.alloc(16_000)])
    .subarray(0, chance.pick([16_044, 16_044, 44, 20, 9_000]))
    .toString('base64')
}

function formOf(value: unknown, chance: Chance): FormField[] {
  const fields = Object.entries(typeof value === 'object' && value !== null ? value : { file: value })
  return fields.map(([name, field]): FormField => {
    if (name === 'file' && chance.oneIn(3)) return [name, hostileFile(chance)]
    if (name === 'file' && !chance.oneIn(12)) {
      const file = chance.pick([
        'a.wav',
        'a.txt',
        'a.md',
        'a.pdf',
        'a.json',
        'a.csv',
        'a.docx',
        'a.html',
        '',
        '😀.wav',
        'a',
      ])
      const base64 = chance.oneIn(3) ? Buffer.from(hostileText(chance)).toString('base64') : wave(chance)
      return [name, { file, type: chance.pick(['', 'audio/wav', 'text/plain', 'x/y']), base64 }]
    }
    return [name, typeof field === 'string' ? field.toWellFormed() : (JSON.stringify(field) ?? '')]
  })
}

function strangeHeaders(chance: Chance): Record<string, string> {
  return chance.pick<() => Record<string, string>>([
    () => ({
      authorization: chance.pick([
        '',
        'Bearer',
        'Bearer a b',
        'Basic eDp5',
        'fuzz',
        `Bearer ${'x'.repeat(3_000)}`,
        'Bearer session:a b',
      ]),
    }),
    () => ({
      'content-type': chance.pick([
        '',
        'text/plain',
        'application/json; charset=utf-16',
        'multipart/form-data',
        'multipart/form-data; boundary=x',
        'a'.repeat(500),
      ]),
    }),
    () => ({
      'x-understudy-session': chance.pick(['', '../x', 'a b', 'x'.repeat(65), 'constructor', '%00', '\u00e9']),
    }),
    () => ({
      'x-understudy-scenario': chance.pick([
        'rate-limit-burst',
        'stream-cut',
        'empty-response',
        'bad-key',
        'none',
        '__proto__',
        'x'.repeat(2_000),
      ]),
    }),
    () => ({ origin: chance.pick(['http://evil.example', 'null', 'http://localhost', 'x'.repeat(900)]) }),
    () => ({ 'sec-fetch-site': chance.pick(['cross-site', 'same-site', 'same-origin', 'none', 'x']) }),
    () => ({ 'content-encoding': chance.pick(['gzip', 'br', 'x']) }),
    () => ({ 'x-stainless-retry-count': chance.pick(['-1', '1', 'NaN', '9'.repeat(400)]) }),
    () => ({ accept: chance.pick(['text/event-stream', 'x', '*/*']), 'accept-language': '\u00fc' }),
    () => ({ 'if-none-match': '*', range: 'bytes=0-1', 'x-http-method-override': 'DELETE' }),
  ])()
}
