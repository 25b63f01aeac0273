// Compares the shapes of two responses to the same request. What a model may do differently each time, such as calling
// a tool or stopping early, is no change.
import diff from 'microdiff'
import { type KnownField, knownField, type ResponseSchemas } from './known-fields.ts'
import { END_MARK, USAGE_CHUNK, type WireShape } from './wire-shape.ts'

/** How severe a change is. An error breaks clients; a warning may; information is of interest when code is changed. */
type DriftSeverity = (typeof DRIFT_SEVERITIES)[number]
/** The severities, the highest first. */
export const DRIFT_SEVERITIES = ['error', 'warning', 'info'] as const

const error = (says: string) => ({ severity: 'error', says }) as const
const warning = (says: string) => ({ severity: 'warning', says }) as const
const info = (says: string) => ({ severity: 'info', says }) as const

/** The kinds of changes, in the order of the table. */
export const CHANGES = {
  'status-changed': error('The request is refused with another 4xx status than 401, 403, 408 or 429.'),
  'content-type-changed': error('The media type is another one.'),
  'field-vanished': error('A field that the API requires is gone.'),
  'type-changed': error('A field has a JSON type that the API does not allow.'),
  'object-changed': error('`object`, `type` or `role` has a value that the API does not allow.'),
  'event-vanished': error('An event that begins, ends or structures the stream is gone, or all content.'),
  'boundary-changed': error('The stream begins or ends with another event.'),
  'usage-vanished': error('There are no token counts any more.'),
  'names-changed': error('Events have lost their names, or have got some.'),
  'value-new': warning('`finish_reason`, `stop_reason` or `status` has a value that the API does not list.'),
  'kind-new': warning('There is an event or an item of a type that the API does not list.'),
  'order-changed': warning('Events within the stream have another order.'),
  'usage-moved': warning('The token counts are in another place.'),
  'null-new': warning('A field that is not in the schema can be null now.'),
  'framing-changed': warning('Lines end differently, or the last event has no blank line.'),
  'field-new': info('There is a field that is not in the schema.'),
  'field-missing': info('A field that the API does not require is absent.'),
  'header-changed': info('A recorded header is absent, or there is a new one.'),
  'comments-changed': info('The stream has comment lines now, or has none any more.'),
}

/** A kind of change. */
type ChangeKind = keyof typeof CHANGES

/** All kinds of changes. */
export const CHANGE_KINDS = Object.keys(CHANGES) as ChangeKind[]

/** One difference between a recorded response and the one of today. */
export interface Change {
  kind: ChangeKind
  severity: DriftSeverity
  /** The field, event or header. */
  where: string
  /** What it was, and what it is; absent where that says nothing. */
  recorded?: string | undefined
  live?: string | undefined
}

/** The changes from a recorded response to today's, the most severe first. */
export function changesBetween(recorded: WireShape, live: WireShape, schemas: ResponseSchemas | undefined): Change[] {
  if (recorded.contentType !== live.contentType)
    return [change('content-type-changed', 'content-type', recorded.contentType, live.contentType)]
  const found = [
    ...eventChanges(recorded, live, schemas),
    ...emptiedLists(recorded, live),
    ...usageChanges(recorded, live),
    ...fieldChanges(recorded, live, schemas),
    ...framingChanges(recorded, live),
    ...headerChanges(recorded, live),
  ]
  return found.sort((one, other) => CHANGE_KINDS.indexOf(one.kind) - CHANGE_KINDS.indexOf(other.kind))
}

/** A change with its severity. */
export const change = (kind: ChangeKind, where: string, recorded?: string, live?: string): Change => ({
  kind,
  severity: CHANGES[kind].severity,
  where,
  ...(recorded !== undefined && { recorded }),
  ...(live !== undefined && { live }),
})

/** Events that carry content: which of them there are depends on what the model writes. */
const CARRIES_CONTENT =
  /(?<!message_)delta|content|output_item|output_text|part|function_call|tool|reasoning|thinking|refusal|annotation|first chunk|^ping$|search|interpreter|image_generation|mcp/
/** Events that carry content, and whose first ones stand in the same order whatever the model writes. */
const HAVE_ORDER: ReadonlySet<string> = new Set([
  ...['content_block_start', 'content_block_stop', 'response.output_item.added', 'response.output_item.done'],
  'content chunk',
])
/** Events with the text of a response, which a complete stream has at least once. */
const isContent = (kind: string) =>
  /(?<!message_)delta|content_block_start|content chunk|tool call chunk|reasoning chunk/.test(kind)

function eventChanges(recorded: WireShape, live: WireShape, schemas: ResponseSchemas | undefined): Change[] {
  const before = recorded.events
  const after = live.events
  if (before.length === 0) return []
  const found: Change[] = []
  for (const kind of before) {
    if (!after.includes(kind) && !CARRIES_CONTENT.test(kind) && kind !== USAGE_CHUNK)
      found.push(change('event-vanished', kind))
  }
  if (before.some(isContent) && !after.some(isContent)) found.push(change('event-vanished', 'all content'))
  for (const kind of after) {
    if (before.includes(kind) || CARRIES_CONTENT.test(kind)) continue
    if (!isListedEvent(kind, schemas)) found.push(change('kind-new', kind))
  }
  const vanished = new Set(found.map(({ where }) => where))
  const [first = '', last = ''] = [before[0], before.at(-1)]
  const [begins = '', ends = ''] = [after[0], after.at(-1)]
  if (first !== begins && !vanished.has(first) && !isContent(begins)) {
    found.push(change('boundary-changed', 'first event', first, begins))
  }
  if (last !== ends && !vanished.has(last)) found.push(change('boundary-changed', 'last event', last, ends))
  const hasOrder = (kind: string) => HAVE_ORDER.has(kind) || !CARRIES_CONTENT.test(kind)
  const common = before.filter((kind) => after.includes(kind) && hasOrder(kind))
  const now = after.filter((kind) => common.includes(kind))
  const hasBoundary = found.some(({ kind }) => kind === 'boundary-changed')
  if (!hasBoundary && common.join() !== now.join()) {
    found.push(change('order-changed', 'events', common.join(', '), now.join(', ')))
  }
  return found
}

/** Lists with what was asked for: no model leaves them empty. */
const ALL_CONTENT = /^(?:choices|data|results)(?=\[)/

function emptiedLists(recorded: WireShape, live: WireShape): Change[] {
  const lists = (fields: WireShape['fields']) =>
    new Set(Object.keys(fields).flatMap((path) => ALL_CONTENT.exec(path)?.[0] ?? []))
  const emptied = lists(recorded.fields).difference(lists(live.fields))
  return [...emptied].filter((list) => live.fields[list]).map((list) => change('event-vanished', `all of ${list}`))
}

/** Kinds of chat chunks are names of ours. */
function isListedEvent(kind: string, schemas: ResponseSchemas | undefined): boolean {
  if (kind === END_MARK || kind.includes(' ')) return kind !== 'chunk without choices'
  return schemas?.event !== undefined && knownField(schemas, `${kind}: type`) !== undefined
}

function usageChanges({ usage: before }: WireShape, { usage: after }: WireShape): Change[] {
  if (before.length === 0 || before.join() === after.join()) return []
  if (after.length === 0) return [change('usage-vanished', before.join(', '))]
  return [change('usage-moved', 'usage', before.join(', '), after.join(', '))]
}

function fieldChanges(recorded: WireShape, live: WireShape, schemas: ResponseSchemas | undefined): Change[] {
  const found: Change[] = []
  const known = (path: string) => schemas && knownField(schemas, path)
  const moved = movedUsage(recorded, live)
  const isMoved = (path: string) => moved.some((place) => path === place || path.startsWith(`${place}.`))
  const parents = { recorded: parentsIn(recorded), live: parentsIn(live) }
  for (const { type, path, ...values } of diff(recorded.fields, live.fields)) {
    const [field = '', part] = path.map(String)
    if (isMoved(field)) continue
    const parent = parentOf(field)
    if (type === 'REMOVE') {
      // Where the value around it is absent, that is what changed, if anything did.
      if (parents.live.has(parent)) found.push(...absence(field, recorded, known(field)))
    } else if (type === 'CREATE') {
      const isNewItem = parent !== '' && !parents.recorded.has(parent)
      if (isNewItem) found.push(...newItem(parent, parents.recorded, schemas))
      else if (known(field) === undefined && !isWithinUnknown(field, live, known))
        found.push(change('field-new', field))
    } else {
      const before = String('oldValue' in values ? values.oldValue : '')
      const after = String('value' in values ? values.value : '')
      found.push(...(part === 'types' ? typeChange : valueChange)(field, [before, after], known(field)))
    }
  }
  return unique(found)
}

/** Token counts that moved are one change, not one for each of their fields. */
const movedUsage = (recorded: WireShape, live: WireShape): string[] => [
  ...recorded.usage.filter((place) => !live.usage.includes(place)),
  ...live.usage.filter((place) => !recorded.usage.includes(place)),
]

function absence(field: string, { fields }: WireShape, known: KnownField | undefined): Change[] {
  const types = fields[field]?.types ?? ''
  if (types === 'null') return [change('field-missing', field)]
  // The text of a chunk, or its tool calls, depends on what the model writes.
  if (/\bdelta\.(?:content|tool_calls|reasoning|refusal|role)/.test(field)) return []
  return [change(known?.isRequired && !known.types.has('null') ? 'field-vanished' : 'field-missing', field, types)]
}

/** An item or event of a kind that was not recorded: of interest only if the API does not list it. */
function newItem(parent: string, recorded: ReadonlySet<string>, schemas: ResponseSchemas | undefined): Change[] {
  const item = /^(.*)[[(]([^\])]+)[\])]$/.exec(parent)
  if (!item) return []
  const [, list = '', type = ''] = item
  const isListed = schemas && knownField(schemas, `${parent}.type`) !== undefined
  return isListed || recorded.has(parent) ? [] : [change('kind-new', `${list} of type ${type}`)]
}

/** Fields of a new field are not reported beside it. */
function isWithinUnknown(
  field: string,
  { fields }: WireShape,
  known: (path: string) => KnownField | undefined,
): boolean {
  const parent = parentOf(field)
  return parent !== '' && fields[parent] !== undefined && known(parent) === undefined
}

type ValueChange = (field: string, values: readonly [string, string], known: KnownField | undefined) => Change[]

const typeChange: ValueChange = (field, [before, after], known) => {
  const was = before.split('|')
  const added = after.split('|').filter((type) => !was.includes(type))
  const allowed = (type: string) => known !== undefined && (known.types.size === 0 || known.types.has(type))
  if (added.every(allowed)) return []
  // What was always null has a value now.
  if (before === 'null' && known === undefined) return []
  if (known === undefined && added.join() === 'null') return [change('null-new', field, before, after)]
  return [change('type-changed', field, before, after)]
}

const NAMES_A_KIND = /(?:^|[.\s\]])(?:object|type|role)$/

const valueChange: ValueChange = (field, [before, after], known) => {
  const was = before.split('|')
  const added = after.split('|').filter((value) => value !== '' && !was.includes(value))
  if (added.every((value) => known?.values.has(value))) return []
  return [change(NAMES_A_KIND.test(field) ? 'object-changed' : 'value-new', field, before, added.join('|'))]
}

function framingChanges({ framing: before }: WireShape, { framing: after }: WireShape): Change[] {
  if (!before || !after) return []
  const found: Change[] = []
  if (before.names !== after.names) found.push(change('names-changed', 'event names', before.names, after.names))
  if (before.lines !== after.lines) found.push(change('framing-changed', 'line ends', before.lines, after.lines))
  if (before.isClosed && !after.isClosed)
    found.push(change('framing-changed', 'last event', 'blank line', 'no blank line'))
  if (before.hasComments !== after.hasComments) {
    const [was, is] = before.hasComments ? ['some', 'none'] : ['none', 'some']
    found.push(change('comments-changed', 'comments', was, is))
  }
  return found
}

/** Headers of one response that others of the same provider may lack. */
const BY_CHANCE = /^(?:retry-after(?:-ms)?|content-length|date|age)$/

function headerChanges({ headers: before }: WireShape, { headers: after }: WireShape): Change[] {
  const other = (names: readonly string[], others: readonly string[]) =>
    names.filter((name) => !others.includes(name) && !BY_CHANCE.test(name))
  return [
    ...other(before, after).map((name) => change('header-changed', name, 'present', 'absent')),
    ...other(after, before).map((name) => change('header-changed', name, 'absent', 'present')),
  ]
}

/** The values that the fields of a response are in: objects, items of lists, events. */
function parentsIn({ fields }: WireShape): Set<string> {
  const parents = new Set<string>([''])
  for (const path of Object.keys(fields)) {
    parents.add(path)
    parents.add(parentOf(path))
  }
  return parents
}

/** The path of the value that a field is in: `choices[]` for `choices[].index`, and `done: ` for `done: type`. */
function parentOf(path: string): string {
  const event = /^[^.[\]]*: /.exec(path)?.[0] ?? ''
  const rest = path.slice(event.length)
  const dot = rest.lastIndexOf('.')
  const bracket = /[\])]$/.test(rest) ? Math.max(rest.lastIndexOf('['), rest.lastIndexOf('(')) : -1
  return event + rest.slice(0, Math.max(0, bracket >= 0 ? bracket : dot))
}

function unique(changes: readonly Change[]): Change[] {
  const seen = new Set<string>()
  return changes.filter(({ kind, where }) => {
    const key = `${kind} ${where}`
    return !seen.has(key) && seen.add(key)
  })
}
