// Redacts what is recorded: secrets and personal data become placeholders, numbered within the cassette, and a replayed response gets the
// request's own values back.
import type { FormField, Frame, RecordedAttempt, UpstreamBody, UpstreamRequest } from '../contract/core/cassette.ts'
import {
  hasPlaceholder,
  numberPlaceholder,
  placeholder,
  placeholdersIn,
  redactedNumber,
} from '../lib/placeholders.ts'
import { keyKind, mayBeSecret, namedSecret, secretParameter } from '../lib/secrets.ts'
import { type Detected, detect } from './detect.ts'
import { type FieldPath, fieldPath, matchesField } from './field-path.ts'
import { keyForms } from './key-forms.ts'
import {
  namedPlace,
  type Place,
  type Replacement,
  type Rewriting,
  rewriteBody,
  rewritten,
  rewrittenAddress,
  rewrittenAt,
} from './rewrite.ts'
import { bytesAsText, EditedText, utf8View } from './views.ts'

/** What is redacted besides what always is. */
export interface RedactorOptions {
  /** Fields whose values are replaced in requests and responses, such as `metadata.user` or `messages[*].content`. */
  paths: readonly string[]
  /** Whether names of people are replaced where the text introduces them. */
  personalNames: boolean
  /** The keys of all configured providers. They are replaced in every form in which they may be encoded. */
  keys: readonly string[]
}

/** What a rule replaced: `values` is the number of different values. */
export interface RedactionCount {
  rule: string
  kind: string
  count: number
  values: number
}

/** Requests with redacted fields: replay compares those fields by the kind of their values alone. */
export interface UncomparedRequests {
  operation: string
  model: string
  /** The fields, such as `messages[0].content`, each with the kinds of its values. */
  fields: readonly { path: string; kinds: readonly string[] }[]
  /** How many requests have the same fields. */
  count: number
}

/** What was redacted in a session. */
export interface RedactionReport {
  replaced: readonly RedactionCount[]
  uncompared: readonly UncomparedRequests[]
}

/** Redacts the calls of one cassette. */
export interface Redactor {
  /** The request without secrets. It depends on nothing but the request, except for the numbers of the placeholders. */
  request(request: UpstreamRequest): UpstreamRequest
  /** The attempt without secrets, also those that a request of the session contained. Frames stay where they are. */
  attempt(attempt: RecordedAttempt): RecordedAttempt
  /** Any other text of the session, such as a part of a trace, a log or an error. It is not counted. */
  text(text: string): string
  /**
   * A recorded attempt with the values of a request in place of their placeholders. `recorded` is the request as it stands in the cassette, whose
   * key is that of the request. A placeholder whose value the request does not have stays.
   */
  restore(attempt: RecordedAttempt, request: UpstreamRequest, recorded: UpstreamRequest): RecordedAttempt
  /** What was replaced until now. */
  report(): RedactionReport
}

/** A redactor for one cassette. It numbers placeholders in the order in which values appear. */
export const createRedactor = (options: RedactorOptions): Redactor => new CassetteRedactor(options)

/** What is replaced, and by which rule. */
interface Secret extends Detected {
  value: string
}

/** The rule of values that were found elsewhere in the session. */
const REPEATED = 'repeated values'
const MAX_UNCOMPARED = 200

/** Where values are noted. */
interface Notes {
  /** The number of a value. */
  number(value: string, isNumber: boolean): number
  replaced?(secret: Secret, place: Place): void
}

class CassetteRedactor implements Redactor {
  readonly #paths: readonly { path: FieldPath; rule: string }[]
  readonly #keys: readonly { form: string; kind: string }[]
  readonly #personalNames: boolean
  readonly #numbers = new Map<string, number>()
  /** Values of requests that responses may repeat. */
  readonly #known = new Map<string, string>()
  /** Those that a response has repeated: later requests contain them as a part of the conversation. */
  readonly #echoed = new Map<string, string>()
  readonly #counts = new Map<string, { rule: string; kind: string; count: number; values: Set<number> }>()
  readonly #uncompared = new Map<string, UncomparedRequests>()
  readonly #requests = new WeakMap<UpstreamRequest, UpstreamRequest>()

  constructor({ paths, personalNames, keys }: RedactorOptions) {
    this.#paths = paths.map((path) => ({ path: fieldPath(path), rule: `redact: ${path}` }))
    this.#personalNames = personalNames
    this.#keys = keys.flatMap((key) => keyForms(key).map((form) => ({ form, kind: keyKind(key) ?? 'api-key' })))
  }

  request(request: UpstreamRequest): UpstreamRequest {
    const cached = this.#requests.get(request)
    if (cached) return cached
    const own = new Map<string, string>()
    const notes = this.#counting(own)
    const once = changedRequest(request, this.#rewriting(notes, this.#echoed))
    // What one field names a secret is one in the others, too.
    const redacted = own.size === 0 ? once : changedRequest(once, repeated(own, notes))
    for (const [value, kind] of own) this.#known.set(value, kind)
    this.#note(redacted)
    this.#requests.set(request, redacted)
    return redacted
  }

  attempt(attempt: RecordedAttempt): RecordedAttempt {
    const own = new Map<string, string>()
    const notes = this.#counting(own)
    const note: Notes = {
      ...notes,
      replaced: (secret, place) => {
        notes.replaced?.(secret, place)
        if (secret.rule === REPEATED) this.#echoed.set(secret.value, secret.kind)
      },
    }
    const once = changedAttempt(attempt, this.#rewriting(note, this.#known), this.#rawKeys(note))
    return own.size === 0 ? once : changedAttempt(once, repeated(own, note))
  }

  text(text: string): string {
    return rewritten(text, this.#rewriting({ number: (value) => this.#numberOf(value) }, this.#known))
  }

  restore(attempt: RecordedAttempt, request: UpstreamRequest, recorded: UpstreamRequest): RecordedAttempt {
    if (!attempt.response) return attempt
    const values = this.#valuesOf(request, recorded)
    return values.size === 0 ? attempt : changedAttempt(attempt, restoring(values))
  }

  report(): RedactionReport {
    return {
      replaced: [...this.#counts.values()].map(({ values, ...count }) => ({ ...count, values: values.size })),
      uncompared: [...this.#uncompared.values()],
    }
  }

  #numberOf(value: string): number {
    const number = this.#numbers.get(value) ?? this.#numbers.size + 1
    this.#numbers.set(value, number)
    return number
  }

  /** Counts what is replaced, and collects the values that may be repeated elsewhere. */
  #counting(own: Map<string, string>): Notes {
    return {
      number: (value) => this.#numberOf(value),
      replaced: ({ rule, kind, value }) => {
        const id = `${rule} ${kind}`
        const counted = this.#counts.get(id) ?? { rule, kind, count: 0, values: new Set() }
        counted.count++
        counted.values.add(this.#numberOf(value))
        this.#counts.set(id, counted)
        if (rule !== REPEATED && isDistinct(value)) own.set(value, kind)
      },
    }
  }

  /** Replaces secrets, and known values. */
  #rewriting(notes: Notes, known: ReadonlyMap<string, string>): Rewriting {
    const secretsOf = (text: string, place: Place): readonly Secret[] => {
      const rule = this.#ruleFor(place)
      if (rule !== undefined) return isBlank(text) ? [] : [wholeOf(text, 'field', rule)]
      const { name } = place
      const kind = name === undefined ? undefined : (place.isParameter ? secretParameter : namedSecret)(name, text)
      if (kind !== undefined) return [wholeOf(text, keyKind(text) ?? kind, 'names of fields')]
      const found = detect(text, { personalNames: this.#personalNames })
      const all = [...this.#keysIn(text), ...found, ...valuesIn(text, known, found)]
      return inOrder(all, text)
    }
    return {
      text: (text, place) => replacements(secretsOf(text, place), place, notes),
      value: (text, place) => {
        const isNumber = text !== 'true' && text !== 'false'
        if (isNumber && redactedNumber(text)) return undefined
        const rule = this.#ruleFor(place)
        if (!isNumber) return rule === undefined ? undefined : 'false'
        const [found] =
          rule === undefined ? numberSecrets(text, place) : [wholeOf(text, 'field', rule)]
        if (!found) return undefined
        notes.replaced?.(found, place)
        return numberPlaceholder(found.kind, notes.number(found.value, true))
      },
    }
  }

  #ruleFor(place: Place): string | undefined {
    if (this.#paths.length === 0) return undefined
    const path = place.path()
    return path && this.#paths.find((field) => matchesField(field.path, path))?.rule
  }

  #keysIn(text: string): Detected[] {
    return this.#keys.flatMap(({ form, kind }) => rangesOf(text, form).map((range) => ({ ...range, kind, rule: 'provider keys' })))
  }

  /** Replaces what is left of the keys in bytes that are no text. */
  #rawKeys(notes: Notes): Rewriting {
    return {
      text: (text, place) => replacements(inOrder(this.#keysIn(text), text), place, notes),
      value: () => undefined,
    }
  }

  #note(request: UpstreamRequest): void {
    const fields = redactedFields(request)
    if (fields.length === 0) return
    const { operation, model } = request
    const id = JSON.stringify([operation, model, fields])
    const noted = this.#uncompared.get(id)
    if (noted) noted.count++
    else if (this.#uncompared.size < MAX_UNCOMPARED) this.#uncompared.set(id, { operation, model, fields, count: 1 })
  }

  /** The values of a request by the numbers of their placeholders in the recorded one. */
  #valuesOf(request: UpstreamRequest, recorded: UpstreamRequest): Map<number, string> {
    const found = new Map<number, string>()
    // Numbers that no placeholder has which the request itself contains.
    const own: string[] = []
    const number = (value: string, isNumber: boolean) => own.push(value) - 1 + (isNumber ? OWN_NUMBERS : OWN_TEXTS)
    const redacted = changedRequest(request, this.#rewriting({ number }, this.#echoed))
    const values = Map.groupBy(placeholdersOf(redacted), ({ at }) => at)
    for (const [at, places] of Map.groupBy(placeholdersOf(recorded), (one) => one.at)) {
      const own_ = values.get(at) ?? []
      if (own_.length !== places.length || own_.some(({ kind }, index) => kind !== places[index]?.kind)) continue
      for (const [index, place] of places.entries()) {
        const mine = own_[index]?.number ?? 0
        const value = mine >= OWN_TEXTS ? own[mine - OWN_TEXTS] : mine >= OWN_NUMBERS ? own[mine - OWN_NUMBERS] : undefined
        if (value !== undefined && !found.has(place.number)) found.set(place.number, value)
      }
    }
    return found
  }
}
const OWN_NUMBERS = 5_000
const OWN_TEXTS = 100_000_000
