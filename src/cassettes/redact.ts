// Redacts what is recorded: secrets and personal data become placeholders, numbered within the cassette, and a replayed response gets the
// request's own values back.
import type {
  FormField,
  Interaction,
  RecordedAttempt,
  UpstreamBody,
  UpstreamRequest,
} from '../contract/core/cassette.ts'
import { type FieldStep, formatFieldPath, parseFieldPath } from '../contract/core/volatile-rule.ts'
import { exactJson, exactJsonText } from '../lib/exact-json.ts'
import {
  hasNoPlaceholder,
  numberPlaceholder,
  placeholder,
  placeholdersIn,
  redactedNumber,
  renumbered,
} from '../lib/placeholders.ts'
import { encodedFormsOf } from '../lib/secret-forms.ts'
import { keyKind, MASK, namedSecret, secretParameter, withoutSpans } from '../lib/secrets.ts'
import { type Detected, detect, MIN_LENGTH } from './detect.ts'
import { joinFrames } from './frames.ts'
import { isPlain } from './plain.ts'
import { gatherTexts } from './plain-stream.ts'
import {
  editsIn,
  fieldPlace,
  isEventText,
  NOWHERE,
  namedPlace,
  type Place,
  type Rewriting,
  rewrittenAddress,
  rewrittenAt,
  rewrittenText,
} from './rewrite.ts'
import { type BodyRewriting, rewriteFrames } from './rewrite-frames.ts'
import { bytesAsText, type Edit, edited } from './views.ts'

/** What is redacted besides what always is. */
export interface RedactorOptions {
  /** Fields whose values are replaced in requests and responses, such as `metadata.user` or `messages[*].content`. */
  paths: readonly string[]
  /** Whether names of people are replaced where the text introduces them. */
  personalNames: boolean
  /** The keys of all configured providers. They are replaced in every form in which they may be encoded. */
  keys: readonly string[]
}

/** Something that a redactor has found. */
export type RedactorChange =
  | { type: 'numbered'; number: number; value: string }
  /** Numbered in a replayed cassette. */
  | { type: 'adopted'; number: number; value: string }
  | ({ type: 'replaced' } & Pick<Secret, 'rule' | 'kind' | 'value'>)
  | { type: 'known' | 'echoed'; values: Values }
  | { type: 'not compared'; request: string }

/** What a redactor in another thread needs to go on. */
export interface PortableRedactor {
  options: RedactorOptions
  state: RedactorState
}

/** What is replaced in a text. The placeholders have numbers of their own, whose values are in `values`. */
export interface TextRedaction {
  edits: readonly Readonly<Edit>[]
  values: readonly string[]
  /** Values that other texts of the session may repeat. */
  own: Values
}

/** What a redactor has found so far. */
export interface RedactorState {
  /** The numbers of values. */
  numbers: Map<string, number>
  /** The value that has a number; null if its placeholder stands in a request and its value is unknown. */
  owners: Map<number, string | null>
  /** Numbers of a replayed cassette. */
  adopted: Set<number>
  /** The last number that was given. */
  last: number
  /** Values of the session. Responses may repeat them. */
  known: Values
  /** Those that a response has repeated: later requests contain them as a part of the conversation. */
  echoed: Values
  /** Values that texts outside of the cassette contain. They do not change the cassette. */
  shown: Values
  counts: Map<string, { rule: string; kind: string; count: number; values: Set<string> }>
  notCompared: Map<string, number>
}

/**
 * A redactor for one cassette. It numbers placeholders in the order in which values appear.
 * @param found receives what it finds in requests and attempts
 */
export const createRedactor = (
  options: RedactorOptions,
  { state = newState(), found }: { state?: RedactorState; found?: (change: RedactorChange) => void } = {},
): Redactor => new Redactor(options, state, found)

const newState = (): RedactorState => ({
  ...{ numbers: new Map(), owners: new Map(), adopted: new Set(), last: 0 },
  ...{ known: new Map(), echoed: new Map(), shown: new Map(), counts: new Map(), notCompared: new Map() },
})

/** Values that are searched: their kinds, and their longest parts that are the same in every encoding. */
type Values = Map<string, { kind: string; part: string }>

/** What is replaced, by which rule, and its value. */
interface Secret extends Detected {
  value: string
}

/** Who numbers values, and counts them. */
interface Notes {
  number(value: string, isNumber: boolean): number
  replaced?(secret: Secret): void
}

/** The name of the rule for a path of the settings. */
export const pathRule = (path: string): string => `redact: ${path}`
const KEYS = 'keys of providers'
const NAMES = 'names of fields'
/** The rule for values that were found elsewhere in the session. */
const REPEATED = 'repeated values'
const MAX_NOT_COMPARED = 200
/** How many values of a session are searched in its responses: the newest. Each search goes through the whole text. */
const MAX_KNOWN = 200
/** How many values of one request or response are searched in the rest of it: the first. */
const MAX_OWN = 100

/** Numbers values. */
class Numbers {
  readonly #state: RedactorState
  readonly #change: (change: RedactorChange) => void
  readonly #outside = new Map<string, number>()

  constructor(state: RedactorState, change: (change: RedactorChange) => void) {
    this.#state = state
    this.#change = change
  }

  /** The number of a value in the cassette. */
  of(value: string): number {
    const { owners, last } = this.#state
    const known = this.#inCassette(value)
    if (known !== undefined) return known
    let number = last + 1
    while (owners.has(number)) number++
    this.#change({ type: 'numbered', number, value })
    return number
  }

  /** The number of a value in other texts: that in the cassette if it has one already, otherwise a high one. */
  outside(value: string, isNumber: boolean): number {
    const index = this.#outside.get(value)
    const number = index === undefined ? this.#inCassette(value) : undefined
    if (number !== undefined) return number
    const own = index ?? this.#outside.size
    this.#outside.set(value, own)
    return own + (isNumber ? FIRST_NUMBER : FIRST_OUTSIDE)
  }

  /** Takes a number whose value is unknown. A value that has it gets another one. */
  reserve(number: number): void {
    if (!this.#state.adopted.has(number)) this.#state.owners.set(number, null)
  }

  #inCassette(value: string): number | undefined {
    const number = this.#state.numbers.get(value)
    return number !== undefined && this.#state.owners.get(number) === value ? number : undefined
  }
}
/** The first number of a value that the cassette has not numbered, in a text and as a JSON number. */
const FIRST_OUTSIDE = 10_001
const FIRST_NUMBER = 5_001

/** Redacts the calls of one cassette. */
export class Redactor {
  readonly #paths: readonly { steps: readonly FieldStep[]; rule: string }[]
  readonly #keys: readonly { form: string; kind: string }[]
  readonly #minKeyLength: number
  readonly #personalNames: boolean
  readonly #keyParts: readonly string[]
  readonly #numbers: Numbers
  readonly #requests = new WeakMap<UpstreamRequest, UpstreamRequest>()
  readonly #found: ((change: RedactorChange) => void) | undefined
  /** Its options and state, with which a redactor in another thread searches a text. */
  readonly portable: PortableRedactor

  constructor(options: RedactorOptions, state: RedactorState, found?: (change: RedactorChange) => void) {
    const { paths, personalNames, keys } = options
    this.portable = { options, state }
    this.#found = found
    this.#numbers = new Numbers(state, (change) => this.#change(change))
    this.#paths = paths.flatMap((path) => {
      const steps = parseFieldPath(path)
      return steps ? [{ steps, rule: pathRule(path) }] : []
    })
    this.#personalNames = personalNames
    this.#keys = keys.flatMap((key) => encodedFormsOf(key).map((form) => ({ form, kind: keyKind(key) ?? 'api-key' })))
    this.#keyParts = [...new Set(this.#keys.map(({ form }) => fixedPart(form)))]
    this.#minKeyLength = Math.min(...this.#keys.map(({ form }) => form.length))
  }

  /** The request without secrets. It depends on nothing but the request, except for the numbers of the placeholders. */
  request(request: UpstreamRequest): UpstreamRequest {
    const cached = this.#requests.get(request)
    if (cached) return cached
    if (this.#isPlainRequest(request)) return request
    for (const { number } of placeholdersOf(request)) this.#numbers.reserve(number)
    const own: Values = new Map()
    const redacted = this.#redacted(request, this.#counting(own))
    this.#remember(own)
    this.#note(redacted)
    this.#requests.set(request, redacted)
    return redacted
  }

  /** The attempt without secrets, also those that a request of the session contained. Frames stay where they are. */
  attempt(attempt: RecordedAttempt): RecordedAttempt {
    const own: Values = new Map()
    const counting = this.#counting(own)
    const notes: Notes = {
      ...counting,
      replaced: (secret) => {
        counting.replaced?.(secret)
        if (secret.rule === REPEATED) this.#change({ type: 'echoed', values: new Map([entryOf(secret)]) })
      },
    }
    const once = changedAttempt(attempt, this.#bodyRewriting(notes))
    const redacted = own.size === 0 ? once : changedAttempt(once, { text: repeated(own, notes) })
    this.#remember(own)
    return redacted
  }

  /** Any other text of the session, such as a part of a trace, a log or an error. It is not counted. */
  text(text: string): string {
    return this.#isPlain(text, this.#state.shown, isEventText(text)) ? text : this.applied(text, this.find(text))
  }

  /** What `text` replaces: the part that takes long, and may run in another thread. */
  find(text: string): TextRedaction {
    const { shown } = this.#state
    const own: Values = new Map()
    const values = new Map<string, number>()
    const number = (value: string, isNumber: boolean) =>
      values.getOrInsert(value, values.size) + (isNumber ? FIRST_NUMBER : FIRST_TEXT)
    const replaced = (secret: Secret) => keep(own, secret)
    const edits = editsIn(text, this.#rewriting({ number, replaced }, shown))
    // What one field shows to be a secret is one in the others, too.
    const all = own.size === 0 ? edits : editsIn(text, this.#rewriting({ number }, new Map([...shown, ...own])))
    return { edits: all, values: [...values.keys()], own }
  }

  /** The text in which something was found. */
  applied(text: string, { edits, values, own }: TextRedaction): string {
    remember(this.#state.shown, own)
    const number = (former: number) => {
      const isNumber = former < FIRST_TEXT
      return this.#numbers.outside(values[former - (isNumber ? FIRST_NUMBER : FIRST_TEXT)] ?? '', isNumber)
    }
    return edited(
      text,
      edits.map((edit) => ({ ...edit, by: renumbered(edit.by, number) })),
    )
  }

  /** The same for the pieces of a body, among which a secret may be split. Pieces of which nothing is left are left out. */
  pieces(pieces: readonly Uint8Array[]): Uint8Array[] {
    const frames = pieces.map((bytes) => ({ at: 0, bytes }))
    return rewriteFrames(frames, undefined, this.#bodyRewriting(this.#uncounted)).map(({ bytes }) => bytes)
  }

  /**
   * A recorded attempt with the values of a request in place of their placeholders. `recorded` is the request as it stands in the cassette, whose
   * key is that of the request. A placeholder whose value the request does not have stays.
   */
  restore(attempt: RecordedAttempt, request: UpstreamRequest, recorded: UpstreamRequest): RecordedAttempt {
    if (!attempt.response) return attempt
    const values = this.#valuesOf(request, recorded)
    for (const [number, value] of values) this.#change({ type: 'adopted', number, value })
    return values.size === 0 ? attempt : changedAttempt(attempt, { text: restoring(values) })
  }

  /** Leaves the numbers of an interaction that was recorded earlier to its values. */
  reserve({ request, attempts }: Interaction): void {
    const reserve = (number: number) => {
      this.#numbers.reserve(number)
      return number
    }
    for (const { number } of placeholdersOf(request)) reserve(number)
    for (const { response } of attempts) renumbered(bytesAsText(joinFrames(response?.frames ?? [])), reserve)
  }

  /**
   * What was replaced until now, with the number of different values, and the requests with redacted fields, which replay compares by the kind
   * of their values alone, such as `chat.completions gpt-4o: messages[0].content (email), 2 requests`.
   */
  report() {
    return {
      replaced: [...this.#state.counts.values()].map(({ values, ...count }) => ({ ...count, values: values.size })),
      notCompared: [...this.#state.notCompared].map(([request, count]) =>
        count === 1 ? request : `${request}, ${count} requests`,
      ),
    }
  }

  /** What a redactor of the same session in another thread must know: values of the session, and their numbers in a replayed cassette. */
  learned(): RedactorChange[] {
    const { adopted, owners, known, echoed } = this.#state
    return [
      ...[...adopted].flatMap((number): RedactorChange[] => {
        const value = owners.get(number)
        return typeof value === 'string' ? [{ type: 'adopted', number, value }] : []
      }),
      { type: 'known', values: known },
      { type: 'echoed', values: echoed },
    ]
  }

  /** Takes what a redactor of the same session in another thread has found. */
  learn(changes: readonly RedactorChange[]): void {
    const { numbers, owners, adopted, known, echoed, shown, counts, notCompared } = this.#state
    for (const change of changes)
      switch (change.type) {
        case 'adopted':
        case 'numbered': {
          const { type, number, value } = change
          numbers.set(value, number)
          owners.set(number, value)
          if (type === 'adopted') adopted.add(number)
          else this.#state.last = Math.max(this.#state.last, number)
          break
        }
        case 'replaced': {
          const { rule, kind, value } = change
          const counted = counts.getOrInsert(`${rule} ${kind}`, { rule, kind, count: 0, values: new Set() })
          counted.count++
          counted.values.add(value)
          break
        }
        case 'known':
          remember(known, change.values)
          remember(shown, change.values)
          break
        case 'echoed':
          for (const [value, about] of change.values) echoed.set(value, about)
          break
        case 'not compared': {
          const { request } = change
          const count = notCompared.get(request) ?? 0
          if (count > 0 || notCompared.size < MAX_NOT_COMPARED) notCompared.set(request, count + 1)
        }
      }
  }

  #change(change: RedactorChange): void {
    this.learn([change])
    this.#found?.(change)
  }

  get #state(): RedactorState {
    return this.portable.state
  }

  /** For texts that are not in the cassette: they do not change the numbers in it. */
  readonly #uncounted: Notes = { number: (value, isNumber) => this.#numbers.outside(value, isNumber) }

  /** Keeps values for the responses of the session. */
  #remember(own: Readonly<Values>): void {
    if (own.size > 0) this.#change({ type: 'known', values: own })
  }

  /** Counts what is replaced, and collects the values that may be repeated elsewhere. */
  #counting(own: Values): Notes {
    return {
      number: (value) => this.#numbers.of(value),
      replaced: (secret) => {
        const { rule, kind, value } = secret
        this.#change({ type: 'replaced', rule, kind, value })
        keep(own, secret)
      },
    }
  }

  /** The request without secrets. What one field shows to be a secret is one in the others, too. */
  #redacted(request: UpstreamRequest, notes: Notes): UpstreamRequest {
    const own: Values = new Map()
    const collecting: Notes = {
      number: notes.number,
      replaced: (secret) => {
        notes.replaced?.(secret)
        keep(own, secret)
      },
    }
    const once = changedRequest(request, this.#rewriting(collecting, this.#state.echoed))
    return own.size === 0 ? once : changedRequest(once, repeated(own, notes))
  }

  #bodyRewriting(notes: Notes): BodyRewriting {
    // The keys that are left are replaced in bytes of any kind.
    const bytes = (body: string) => replacements(united(this.#keysIn(body), body), notes)
    return { text: this.#rewriting(notes, this.#state.known), bytes }
  }

  /** Replaces secrets, and known values. */
  #rewriting(notes: Notes, known: Readonly<Values>): Rewriting {
    const secretsIn = (text: string, place: Place): readonly Secret[] => {
      const rule = this.#ruleFor(place)
      if (rule !== undefined) return isBlank(text) ? [] : [wholeOf(text, 'field', rule)]
      const { name } = place
      const kind = name === undefined ? undefined : (place.isParameter ? secretParameter : namedSecret)(name, text)
      if (kind !== undefined) return [wholeOf(text, keyKind(text) ?? kind, NAMES)]
      const [found, repeats] = [this.#detected(text), knownIn(text, known)]
      return found.length + repeats.length === 0 ? NOTHING : united([...found, ...repeats], text)
    }
    return {
      minLength: MIN_LENGTH,
      keeps: (body, isStream) => this.#isPlain(body, known, isStream),
      text: (text, place) => replacements(secretsIn(text, place), notes),
      value: (text, place) => {
        const rule = this.#ruleFor(place)
        const isBoolean = text === 'true' || text === 'false'
        if (redactedNumber(text) || (isBoolean && rule === undefined)) return undefined
        const found = rule === undefined ? numberSecret(text, place) : wholeOf(text, 'field', rule)
        if (!found) return undefined
        notes.replaced?.(found)
        if (isBoolean) return 'false'
        return numberPlaceholder(found.kind, notes.number(text, true))
      },
    }
  }

  /** Whether a body has neither secrets nor known values. Where fields are replaced by their paths, each is looked at. */
  #isPlain(body: string, known: Readonly<Values>, isStream: boolean): boolean {
    if (this.#personalNames || this.#paths.length > 0) return false
    const searched = isStream ? gatherTexts(body) : body
    if (searched === undefined || !isPlain(searched)) return false
    for (const part of this.#keyParts) if (searched.includes(part)) return false
    for (const { part } of known.values()) if (searched.includes(part)) return false
    return true
  }

  /** Whether a request has no secrets, known values or placeholders. */
  #isPlainRequest({ path, headers, body }: UpstreamRequest): boolean {
    if (body.kind === 'form') return false
    const text = body.kind === 'json' ? exactJsonText(body.value) : body.text
    if (!this.#isPlainPart(text) || !this.#isPlainPart(path)) return false
    for (const name in headers) if (!this.#isPlainPart(headers[name] ?? '')) return false
    return true
  }

  #isPlainPart(text: string): boolean {
    return hasNoPlaceholder(text) && this.#isPlain(text, this.#state.echoed, isEventText(text))
  }

  /** Keys and secrets in a text. */
  #detected(text: string): readonly Detected[] {
    if (text.length < MIN_LENGTH) return NOTHING
    const found = detect(text, { personalNames: this.#personalNames })
    const keys = this.#keysIn(text)
    return keys.length === 0 ? found : [...keys, ...found]
  }

  #ruleFor(place: Place): string | undefined {
    if (this.#paths.length === 0) return undefined
    const path = place.path()
    const all = path && [path, ...pathsInWhole(path, place.event)]
    return all && this.#paths.find(({ steps }) => all.some((one) => isWithin(one, steps)))?.rule
  }

  #keysIn(text: string): readonly Detected[] {
    if (text.length < this.#minKeyLength) return NOTHING
    const found: Detected[] = []
    for (const { form, kind } of this.#keys)
      if (text.includes(form)) for (const range of rangesOf(text, form)) found.push({ ...range, kind, rule: KEYS })
    return found
  }

  #note(redacted: UpstreamRequest): void {
    const kinds = new Map<string, Set<string>>()
    for (const { at, kind } of placeholdersOf({ ...redacted, path: '' }))
      kinds.getOrInsertComputed(at, () => new Set()).add(kind)
    if (kinds.size === 0) return
    const fields = [...kinds].map(([at, all]) => `${at} (${[...all].join(', ')})`)
    const request = `${redacted.operation} ${redacted.provider}/${redacted.model}: ${fields.join(', ')}`
    this.#change({ type: 'not compared', request })
  }

  /** The values of a request by the numbers of their placeholders in the recorded one. */
  #valuesOf(request: UpstreamRequest, recorded: UpstreamRequest): Map<number, string> {
    const values: string[] = []
    // Numbers that no placeholder has which the request itself contains.
    const number = (value: string, isNumber: boolean) => values.push(value) - 1 + (isNumber ? FIRST_NUMBER : FIRST_TEXT)
    const own = Map.groupBy(placeholdersOf(this.#redacted(request, { number })), ({ at }) => at)
    const found = new Map<number, string>()
    for (const [at, places] of Map.groupBy(placeholdersOf(recorded), (one) => one.at)) {
      const sent = own.get(at) ?? []
      // A volatile field may contain others.
      if (sent.length !== places.length || sent.some(({ kind }, index) => kind !== places[index]?.kind)) continue
      for (const [index, place] of places.entries()) {
        const mine = sent[index]?.number ?? 0
        const value = values[mine - (mine >= FIRST_TEXT ? FIRST_TEXT : FIRST_NUMBER)]
        if (value !== undefined && !found.has(place.number)) found.set(place.number, value)
      }
    }
    return found
  }
}
const NOTHING: readonly never[] = []
const FIRST_TEXT = 100_000_000

/** Kinds that are found wherever they stand. */
const FOUND_ANYWHERE = new Set(['email', 'card-number', 'iban'])

/** Keeps a value that is searched in other places, where nothing else shows that it is secret. */
function keep(own: Values, secret: Secret): void {
  const { rule, kind, value } = secret
  if (rule === REPEATED || rule === KEYS || own.size >= MAX_OWN) return
  if (isDistinct(value) && !FOUND_ANYWHERE.has(kind) && keyKind(value) === undefined) own.set(...entryOf(secret))
}

const entryOf = ({ value, kind }: Secret) => [value, { kind, part: fixedPart(value) }] as const

/** Adds values as the newest ones, and drops the oldest. */
function remember(values: Values, own: Readonly<Values>): void {
  for (const [value, about] of own) {
    values.delete(value)
    values.set(value, about)
  }
  for (const value of values.keys()) {
    if (values.size <= MAX_KNOWN) break
    values.delete(value)
  }
}

/** The longest part of a value that no encoding changes, which `isPlain` texts may have: JSON, UTF-8 as bytes. */
const fixedPart = (value: string): string =>
  (value.match(/[\w-]+/g) ?? ['']).reduce((longest, part) => (part.length > longest.length ? part : longest))

/** Values that can be recognized wherever they stand. Short ones and words are replaced only where they were found. */
const isDistinct = (value: string): boolean =>
  value.length >= 6 &&
  !value.includes(MASK) &&
  !/^[A-Za-z]{1,11}$/.test(value) &&
  !/^\d{1,7}$/.test(value) &&
  !value.includes('\0')

const isBlank = (text: string) => /^[\s\0]*$/.test(text) || placeholdersIn(text)[0]?.end === text.length

const wholeOf = (text: string, kind: string, rule: string): Secret => ({
  start: 0,
  end: text.length,
  kind,
  rule,
  value: text,
})

function rangesOf(text: string, part: string): { start: number; end: number }[] {
  const ranges: { start: number; end: number }[] = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length))
    ranges.push({ start: at, end: at + part.length })
  return ranges
}

const knownIn = (text: string, known: Readonly<Values>): readonly Detected[] =>
  text.length < MIN_LENGTH || known.size === 0
    ? NOTHING
    : [...known].flatMap(([value, { kind }]) =>
        rangesOf(text, value).map((range) => ({ ...range, kind, rule: REPEATED })),
      )

/** Secrets in order. Those that overlap are one, of the kind of the first that was found. */
function united(found: readonly Detected[], text: string): Secret[] {
  const all = found.map((one, rank) => ({ ...one, rank })).sort((one, other) => one.start - other.start)
  const whole: (Detected & { rank: number })[] = []
  for (const one of all) {
    const last = whole.at(-1)
    if (!last || one.start >= last.end) whole.push(one)
    else
      whole.splice(-1, 1, {
        ...(one.rank < last.rank ? one : last),
        start: last.start,
        end: Math.max(last.end, one.end),
      })
  }
  return whole.map((one) => ({ ...one, value: text.slice(one.start, one.end) }))
}

const replacements = (secrets: readonly Secret[], notes: Notes): readonly Edit[] =>
  secrets.length === 0
    ? NOTHING
    : secrets.map((secret) => {
        notes.replaced?.(secret)
        return { start: secret.start, end: secret.end, by: placeholder(secret.kind, notes.number(secret.value, false)) }
      })

/** A number that is a secret by its name, or a credit card number. */
function numberSecret(text: string, { name }: Place): Secret | undefined {
  const kind = name === undefined ? undefined : namedSecret(name, text)
  if (kind !== undefined) return wholeOf(text, kind, NAMES)
  if (!/^\d{13,19}$/.test(text)) return undefined
  const [found] = detect(text, { personalNames: false })
  return found?.start === 0 && found.end === text.length ? wholeOf(text, found.kind, found.rule) : undefined
}

/** Replaces values where they stand, but not in placeholders. */
function repeated(known: Readonly<Values>, notes: Notes): Rewriting {
  return {
    minLength: MIN_LENGTH,
    keeps: () => false,
    text: (text) => {
      const found = knownIn(withoutSpans(text, placeholdersIn(text)), known)
      return replacements(united(found, text), notes)
    },
    value: () => undefined,
  }
}

/** Puts values back in place of their placeholders. */
const restoring = (values: ReadonlyMap<number, string>): Rewriting => ({
  minLength: MIN_LENGTH,
  keeps: (body, isStream) => !isStream && hasNoPlaceholder(body),
  text: (text) =>
    placeholdersIn(text).flatMap(({ start, end, number }) => {
      const value = values.get(number)
      return value === undefined ? [] : [{ start, end, by: value }]
    }),
  value: (text) => {
    const value = values.get(redactedNumber(text)?.number ?? -1)
    return value !== undefined && /^-?\d[\d.eE+-]*$/.test(value) ? value : undefined
  },
})

/** Fields that tell parts of a body apart. They stay in a redacted list or object. */
const STRUCTURE = new Set<FieldStep>(['type', 'role'])

/**
 * Whether a field stands at a path, or in the object or list there. A stream sends the fields of a `message` in a `delta`, so that one stands for
 * the other.
 */
function isWithin(path: readonly FieldStep[], steps: readonly FieldStep[]): boolean {
  if (path.length < steps.length) return false
  const last = path.at(-1)
  if (path.length > steps.length && last !== undefined && STRUCTURE.has(last)) return false
  return steps.every((step, index) => {
    const name = path[index]
    if (step === null) return name === null || typeof name === 'number'
    if (name === null) return typeof step === 'number'
    return step === name || (step === 'message' && name === 'delta')
  })
}

/** What events of the Responses API send in pieces, by a part of their type. */
const SENT_BY_EVENTS: readonly (readonly [type: string, path: readonly FieldStep[]])[] = [
  ['reasoning_summary', ['output', null, 'summary', null, 'text']],
  ['refusal', ['output', null, 'content', null, 'refusal']],
  ['arguments', ['output', null, 'arguments']],
  ['input', ['output', null, 'input']],
  ['code', ['output', null, 'code']],
  ['text', ['output', null, 'content', null, 'text']],
]

/** Where a field that an event of the Responses or the Messages API sends stands in the whole response. */
function pathsInWhole(path: readonly FieldStep[], event = ''): readonly FieldStep[][] {
  const [first, ...rest] = path
  if (event.startsWith('content_block_')) {
    const inBlock = rest.map((name) => (name === 'partial_json' ? 'input' : name))
    return first === 'content_block' || first === 'delta' ? [['content', null, ...inBlock]] : []
  }
  if (!event.startsWith('response.')) return []
  if (first === 'response') return [rest]
  if (first === 'item') return [['output', null, ...rest]]
  if (first === 'part') return ['content', 'summary'].map((list): FieldStep[] => ['output', null, list, null, ...rest])
  const whole = SENT_BY_EVENTS.find(([type]) => event.includes(type))?.[1]
  return whole && (first === 'delta' || first === whole.at(-1)) ? [[...whole, ...rest]] : []
}

function changedRequest(request: UpstreamRequest, rewriting: Rewriting): UpstreamRequest {
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
    name,
    rewrittenAt(value, namedPlace(name), rewriting),
  ])
  return {
    ...request,
    path: rewrittenAddress(request.path, rewriting),
    headers: Object.fromEntries(headers),
    body: changedBody(request.body, rewriting),
  }
}

function changedBody(body: UpstreamBody, rewriting: Rewriting): UpstreamBody {
  switch (body.kind) {
    case 'json': {
      const text = exactJsonText(body.value)
      const isText = typeof body.value === 'object' || typeof body.value === 'string'
      const changed = isText ? rewrittenText(text, rewriting) : (rewriting.value(text, NOWHERE) ?? text)
      return changed === text ? body : { kind: 'json', value: exactJson(changed) }
    }
    case 'form':
      return { kind: 'form', fields: body.fields.map((field) => changedField(field, rewriting)) }
    case 'text':
      return { kind: 'text', text: rewrittenText(body.text, rewriting) }
  }
}

function changedField(field: FormField, rewriting: Rewriting): FormField {
  const place = fieldPlace(field.name)
  if ('value' in field) return { name: field.name, value: rewrittenAt(field.value, place, rewriting) }
  return { ...field, file: rewrittenAt(field.file, fieldPlace('file'), rewriting) }
}

function changedAttempt(attempt: RecordedAttempt, rewriting: BodyRewriting): RecordedAttempt {
  const { response } = attempt
  if (!response) return attempt
  const type = response.headers.find(([name]) => name === 'content-type')?.[1]
  const frames = rewriteFrames(response.frames, type, rewriting)
  const growth = lengthOf(frames) - lengthOf(response.frames)
  const headers = response.headers.map(([name, value]): [string, string] => {
    if (name === 'content-length' && /^\d{1,15}$/.test(value)) return [name, String(Number(value) + growth)]
    const isKept = name === 'content-type' && USUAL_TYPE.test(value)
    return [name, isKept ? value : rewrittenAt(value, namedPlace(name), rewriting.text)]
  })
  return { ...attempt, response: { ...response, headers, frames } }
}

/** Types that nearly every response has. */
export const USUAL_TYPE = /^(?:application\/json|text\/event-stream)(?:; ?charset=utf-8)?$/i

const lengthOf = (frames: readonly { bytes: Uint8Array }[]) =>
  frames.reduce((length, { bytes }) => length + bytes.length, 0)

/** The placeholders in a request, and where they stand. */
function placeholdersOf(request: UpstreamRequest): { at: string; kind: string; number: number }[] {
  const found: { at: string; kind: string; number: number }[] = []
  const nameOf = (place: Place) => {
    const steps = place.path()
    return steps ? formatFieldPath(steps) : (place.name ?? 'text')
  }
  changedRequest(request, {
    minLength: MIN_LENGTH,
    keeps: hasNoPlaceholder,
    text: (text, place) => {
      const all = placeholdersIn(text)
      if (all.length > 0) found.push(...all.map(({ kind, number }) => ({ at: nameOf(place), kind, number })))
      return []
    },
    value: (text, place) => {
      const one = redactedNumber(text)
      if (one) found.push({ at: nameOf(place), ...one })
      return undefined
    },
  })
  return found
}
