// Proposes rules for fields that change from run to run, from two recordings of the same command.
import type { Interaction, UpstreamRequest, VolatileRule } from '../contract/core/cassette.ts'
import { cassetteKey, comparableRequest } from '../contract/core/cassette-key.ts'
import { formatFieldPath, parseFieldPath } from '../contract/core/volatile-rule.ts'
import { VOLATILE_MARK, withoutVolatile } from '../lib/volatile.ts'
import { joinFrames } from './frames.ts'
import { type FieldDifference, nearestInteraction } from './nearest.ts'
import { gatherTexts } from './plain-stream.ts'
import { withOldIds } from './same.ts'
import { valueText } from './value-text.ts'

/** The interactions of a session in two runs. */
export interface RecordedTwice {
  session: string
  first: readonly Interaction[]
  second: readonly Interaction[]
}

/** A proposed rule, and how often it would apply in the second run. */
export interface ProposedRule {
  rule: VolatileRule
  count: number
  /** The values in which the runs differed first, for each pattern. */
  examples: readonly FieldDifference[]
}

/**
 * The rules under which the requests of both runs are the same, and the remaining differences: requests that only one of the runs made. Only
 * fields that differed are named.
 * @param rules those that are in force already
 */
export function proposeRules(recorded: readonly RecordedTwice[], rules: readonly VolatileRule[]) {
  const sessions = recorded.map((session) => withSameResponses(session, rules))
  const found = new Map<string, FoundField>()
  for (const session of sessions)
    for (const { difference, request } of differencesOf(session, rules)) addField(found, difference, request)
  const names = new Set(rules.map(({ name }) => name))
  const proposed = [...found.values()].map((field) => asRule(field, names))
  const all = [...rules, ...proposed.map(({ rule }) => rule)]
  const counts = new Map<string, number>()
  for (const { second } of sessions)
    for (const { request } of second)
      for (const [name, count] of comparableRequest(request, all).applied)
        counts.set(name, (counts.get(name) ?? 0) + count)
  return {
    rules: proposed.map((one) => ({ ...one, count: counts.get(one.rule.name) ?? 0 })),
    remaining: sessions.flatMap((one) => unequal(one, all)),
  }
}

/** The section of understudy.yaml with the rules, each with how often it would apply. */
export function rulesText(rules: readonly ProposedRule[]): string {
  const lines = rules.flatMap(({ rule, count }) => {
    const [first, ...others] = Object.entries(rule).filter(([, value]) => value !== undefined)
    const field = ([name, value]: [string, unknown]) => `${name}:${valueText(value, '      ')}`
    return [
      `  # Applied ${count === 1 ? 'once' : `${count} times`} in the second run.`,
      ...(first ? [`  - ${field(first)}`] : []),
      ...others.map((entry) => `    ${field(entry)}`),
    ]
  })
  return ['volatile:', ...lines, ''].join('\n')
}

/** Requests of the first run that one of the second is compared with. Parallel calls are not far from each other. */
const MAX_CANDIDATES = 32

/**
 * The fields in which requests of the runs differ: each is compared with the nearest one of the other run, since parallel calls come in any
 * order.
 */
function differencesOf({ first, second }: RecordedTwice, rules: readonly VolatileRule[]) {
  const groupOf = ({ request: { operation, provider, model } }: Interaction) => `${operation} ${provider}/${model}`
  const others = Map.groupBy(withoutEqual(first, second, rules), groupOf)
  return withoutEqual(second, first, rules).flatMap((one) => {
    const candidates = others.get(groupOf(one)) ?? []
    const nearest = nearestInteraction(one.request, candidates.slice(0, MAX_CANDIDATES), rules)
    if (!nearest) return []
    candidates.splice(candidates.indexOf(nearest.interaction), 1)
    return nearest.differences.map((difference) => ({ difference, request: one.request }))
  })
}

/**
 * The session as if the provider had sent the same texts and ids in both runs, which later requests repeat: in a replay they are those of the
 * cassette.
 */
function withSameResponses(session: RecordedTwice, rules: readonly VolatileRule[]): RecordedTwice {
  const [first, second] = [responsesIn(session.first), responsesIn(session.second)]
  const texts = new Map<string, string>()
  for (const { difference } of differencesOf(session, rules)) {
    const { recorded, sent } = difference
    if (isQuotedIn(first, recorded) && isQuotedIn(second, sent)) texts.set(sent, recorded)
  }
  return { ...session, second: session.second.map((one) => ({ ...one, request: withOldIds(one.request, texts) })) }
}

/** All responses, with what a stream sends in pieces as one text. */
const responsesIn = (interactions: readonly Interaction[]): string =>
  interactions
    .flatMap(({ attempts }) => attempts.map(({ response }) => joinFrames(response?.frames ?? [])))
    .map((bytes) => {
      const text = new TextDecoder().decode(bytes)
      return gatherTexts(text) ?? text
    })
    .join('\n')

const isQuotedIn = (responses: string, value: unknown): value is string =>
  typeof value === 'string' && responses.includes(JSON.stringify(value))

/** A field that differed, or the same field of every item of a list. */
interface FoundField {
  /** Its path without the indexes of items. */
  general: string
  paths: Set<string>
  operations: Set<string>
  /** What differed first, by the pattern for it; undefined if the whole value did. */
  examples: Map<string | undefined, FieldDifference>
}

/** Fields of the body. Others, such as the model, are no volatile fields. */
const OTHER_FIELDS = /^(?:operation|provider|model|headers|body)(?:\.|$)/

function addField(found: Map<string, FoundField>, difference: FieldDifference, { operation }: UpstreamRequest): void {
  const { path, recorded, sent } = difference
  const steps = parseFieldPath(path)
  if (!steps || OTHER_FIELDS.test(path)) return
  // A list of another length is another request.
  if (recorded === undefined || sent === undefined) return
  const general = formatFieldPath(steps.map((step) => (typeof step === 'number' ? null : step)))
  const pattern = volatilePattern(recorded, sent)
  // Under a rule for the whole text of every item, any conversation would match.
  const isSentence = pattern === undefined && typeof recorded === 'string' && /\s/.test(recorded)
  const key = isSentence ? path : `${general} ${pattern === undefined}`
  const field = found.getOrInsertComputed(key, () => ({
    general,
    paths: new Set(),
    operations: new Set(),
    examples: new Map(),
  }))
  field.paths.add(path)
  field.operations.add(operation)
  field.examples.getOrInsert(pattern, difference)
}

function asRule({ general, paths, operations, examples }: FoundField, names: Set<string>): Omit<ProposedRule, 'count'> {
  const [only = general] = paths
  const path = paths.size === 1 ? only : general
  const base =
    path
      .replace(/\[[^\]]*\]/g, '')
      .replace(/[^A-Za-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .toLowerCase() || 'field'
  let name = base
  for (let number = 2; names.has(name); number++) name = `${base}-${number}`
  names.add(name)
  const patterns = patternsOf(examples)
  const [operation] = operations
  return {
    rule: {
      name,
      path,
      ...(patterns.length > 0 && { pattern: patterns.join('|') }),
      ...(operations.size === 1 && operation !== undefined && { operation }),
    },
    examples: [...examples.values()],
  }
}

/** Separates alternatives until those of all texts are known. */
const OR = '\u0000'

/** The alternatives for all texts: those that match most stand first, since another one may match a part of the same. */
function patternsOf(examples: FoundField['examples']): string[] {
  const lengths = new Map<string, number>()
  for (const [pattern, { recorded }] of examples)
    for (const one of pattern?.split(OR) ?? [])
      for (const [text] of String(recorded).matchAll(new RegExp(one, 'gu')))
        lengths.set(one, Math.max(text.length, lengths.get(one) ?? 0))
  return [...lengths].sort(([, one], [, other]) => other - one).map(([pattern]) => pattern)
}

/**
 * Patterns for the parts in which two texts differ, if these are times, ids and numbers, separated by `OR`; undefined if the whole
 * values differ.
 */
function volatilePattern(recorded: unknown, sent: unknown): string | undefined {
  if (typeof recorded !== 'string' || typeof sent !== 'string') return undefined
  const [one, other] = [withoutVolatile(recorded), withoutVolatile(sent)]
  // A text that is nothing but the part is volatile as a whole.
  if (one.parts.length === 1 && one.parts[0]?.text === recorded.trim()) return undefined
  const words = changedWords(one.text, other.text)
  if (words === undefined || one.parts.length !== other.parts.length) return undefined
  const patterns = one.parts.flatMap((part, index) => {
    const second = other.parts[index]?.text ?? ''
    return part.text === second
      ? []
      : [part.kind === 'id' ? idPattern(part.text, second) : timePattern(part.text, second)]
  })
  const all = [...new Set([...patterns, ...words])]
  const pattern = new RegExp(all.join('|'), 'gu')
  return recorded.replace(pattern, '') === sent.replace(pattern, '') ? all.join(OR) : undefined
}

const WORD = /[A-Za-z0-9_-]+/
const MAX_CHANGED_WORDS = 8
const MAX_CONTEXT = 16
/** What `withoutVolatile` puts in place of a time or id. */
const MARK = new RegExp(`${VOLATILE_MARK}(?:time|date|clock|id)`, 'g')

/**
 * Patterns for words in which two texts differ, such as numbers and names of temporary folders, each with what stands
 * before it; undefined if the texts say something else.
 */
function changedWords(one: string, other: string): string[] | undefined {
  const [words = [], others = []] = [one, other].map((text) =>
    text.replace(MARK, VOLATILE_MARK).split(/([A-Za-z0-9_-]+)/),
  )
  if (words.length !== others.length) return undefined
  const patterns: string[] = []
  // What stands since the last change.
  let before = '^'
  for (const [index, word] of words.entries()) {
    const second = others[index] ?? ''
    if (word === second) {
      before += word
      continue
    }
    const [begin = ''] = /^(?:[A-Za-z0-9]+[_-])+/.exec(word) ?? []
    const shared = second.startsWith(begin) ? begin : ''
    const isChanging = WORD.test(word) && (shared !== '' || (looksGenerated(word) && looksGenerated(second)))
    if (!isChanging || words.length === 3) return undefined
    const context = contextPattern(`${before}${shared}`)
    patterns.push(`${context}${wordPattern(word.slice(shared.length), second.slice(shared.length))}`)
    before = ''
  }
  return patterns.length > MAX_CHANGED_WORDS ? undefined : patterns
}

/** What stands before a word: back to the start of the text, a time or id, or a space. */
function contextPattern(before: string): string {
  const text = before.slice(before.lastIndexOf(VOLATILE_MARK) + 1)
  if (text.length <= MAX_CONTEXT) return text.startsWith('^') ? `^${escaped(text.slice(1))}` : escaped(text)
  const end = text.slice(-MAX_CONTEXT)
  return escaped(end.slice(end.search(/\s\S/) + 1))
}

/** Numbers and random names contain digits or change their case; words do not. */
const looksGenerated = (word: string) => /\d|[a-z][A-Z]/.test(word)

const wordPattern = (one: string, other: string): string =>
  /^\d+$/.test(one) && /^\d+$/.test(other)
    ? '\\d+'
    : `[A-Za-z0-9_-]${one.length === other.length ? `{${one.length}}` : '+'}`

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
const range = (one: number, other: number) =>
  one === other ? `{${one}}` : `{${Math.min(one, other)},${Math.max(one, other)}}`

/** Ids with the same beginning, such as `run_`. */
function idPattern(one: string, other: string): string {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(one))
    return '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'
  const [begin = ''] = /^[a-z]+[_-]/i.exec(one) ?? []
  const shared = other.startsWith(begin) ? begin : ''
  return `${escaped(shared)}[A-Za-z0-9_-]${range(one.length - shared.length, other.length - shared.length)}`
}

/** Times: digits and names of days, months and halves of a day may change, other characters stay. */
function timePattern(one: string, other: string): string {
  const runs = (text: string) => text.match(/\d+|[A-Za-z]+|[^A-Za-z\d]+/g) ?? []
  const others = runs(other)
  // Only times that begin with a year have a zero in front of small numbers for certain.
  const isPadded = /^\d{4}-/.test(one)
  return runs(one)
    .map((run, index) => {
      const second = others[index] ?? run
      if (/^\d/.test(run)) return `\\d${run.length <= 2 && !isPadded ? '{1,2}' : range(run.length, second.length)}`
      return /^[A-Za-z]/.test(run) && !/^[tz]$/i.test(run) ? '[A-Za-z]+' : escaped(run)
    })
    .join('')
}

/** Requests of one run without an equal one in the other. */
function withoutEqual(
  these: readonly Interaction[],
  others: readonly Interaction[],
  rules: readonly VolatileRule[],
): Interaction[] {
  const rest = new Map<string, number>()
  for (const { request } of others) {
    const key = cassetteKey(request, rules)
    rest.set(key, (rest.get(key) ?? 0) + 1)
  }
  return these.filter(({ request }) => {
    const key = cassetteKey(request, rules)
    const count = rest.get(key) ?? 0
    rest.set(key, count - 1)
    return count <= 0
  })
}

function unequal({ session, first, second }: RecordedTwice, rules: readonly VolatileRule[]): string[] {
  const onlyFirst = withoutEqual(first, second, rules)
  if (onlyFirst.length === 0 && first.length === second.length) return []
  return [
    `session ${session}: ${onlyFirst.length} of ${first.length} requests of the first run have no equal in the second, which made ${second.length}`,
  ]
}
