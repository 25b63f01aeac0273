// The cassette of one session in replay: which recorded attempts are used, and by which requests.

import { adviceOn, type FieldDifference, fieldDifferenceText, nearestInteraction } from '../../cassettes/nearest.ts'
import type { Redactor } from '../../cassettes/redact.ts'
import type {
  Cassette,
  Interaction,
  RecordedAttempt,
  UpstreamRequest,
  VolatileRule,
} from '../../contract/core/cassette.ts'
import { cassetteKey, comparableRequest } from '../../contract/core/cassette-key.ts'
import { MISS_CODE, type WeakMatching } from '../../contract/core/cassette-modes.ts'
import { ApiError } from '../../contract/core/error.ts'
import { isObject, type JsonObject } from '../../lib/values.ts'
import type { SentAttempt } from '../forward/transport.ts'

/** Why a cassette has no response. */
type MissReason = 'no cassette' | 'no interaction' | 'all used' | 'read on' | 'not recorded'

/** A request or a read without a recorded response. */
interface Miss {
  session: string
  operation: string
  /** Name of the provider and the model. */
  model: string
  reason: MissReason
  /** The reason in a sentence. */
  message: string
  /** The interaction that differs least. */
  nearest: { line: number; differences: readonly FieldDifference[] } | null
}

/** The error of a miss. Retrying cannot fix it. */
export class ReplayMiss extends ApiError {
  readonly miss: Miss

  constructor(miss: Miss, place: TapePlace) {
    super(404, MISS_CODE, `${miss.message}${nearestText(miss, place)}${adviceText(miss, place)}`, {
      headers: { 'x-should-retry': 'false' },
    })
    this.miss = miss
  }
}

/** An interaction with its line in the file. */
type PlacedInteraction = Interaction & { line: number }

const MAX_DIFFERENCES = 5

function nearestText({ nearest }: Miss, { file }: TapePlace): string {
  if (!nearest) return ''
  const { line, differences } = nearest
  const more = differences.length - MAX_DIFFERENCES
  const shown = differences.slice(0, MAX_DIFFERENCES).map(fieldDifferenceText)
  return `; the nearest interaction is at ${file}:${line}: ${[...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ')}`
}

function adviceText({ reason }: Miss, { command }: TapePlace): string {
  const advice = adviceOn(reason, command)
  return advice === undefined ? '' : `; ${advice}`
}

/** Where a cassette is. */
interface TapePlace {
  file: string
  /** The command that records it again. */
  command: string
}

/** A recorded attempt, and the interaction that it belongs to. */
interface TapeEntry {
  interaction: PlacedInteraction
  attempt: RecordedAttempt
  queue: Queue
}

/** The attempts of a key in the order of the recording, and how many of them are used. */
interface Queue {
  entries: TapeEntry[]
  used: number
  /** Attempts that a fault may have changed for their clients. A repetition of the request gets the same one. */
  faulty: { entry: TapeEntry; isFaulty: () => boolean }[]
}

/** What a tape is made of. */
interface TapeOptions extends TapePlace {
  session: string
  /** The cassette, or why there is none that can be used. */
  cassette: Cassette | { missing: string }
  /** The rules of the settings, besides those of the cassette. */
  rules: readonly VolatileRule[]
  redactor: Redactor
  allow: readonly WeakMatching[]
}

/** Misses that are described. Further ones are only counted. */
const MAX_MISSES = 100

/** The tape of a session. */
export class Tape {
  readonly interactions: readonly PlacedInteraction[]
  readonly missing: string | null
  /** Misses, up to a maximum. */
  readonly misses: Miss[] = []
  missCount = 0
  /** Requests without a recorded response that went to their provider. */
  forwarded = 0
  /** Attempts that were replayed. */
  replayed = 0
  /** Weak matches by kind. */
  readonly weak = new Map<WeakMatching, number>()
  /** How often each rule applied. */
  readonly applied = new Map<string, number>()
  readonly #options: TapeOptions
  readonly #rules: readonly VolatileRule[]
  readonly #queues = new Map<string, Queue>()
  readonly #everUsed = new Set<RecordedAttempt>()
  readonly #weakQueues = new Map<WeakMatching, Map<string, Set<Queue>>>()

  constructor(options: TapeOptions) {
    const { cassette, rules } = options
    this.#options = options
    const found = 'missing' in cassette ? undefined : cassette
    this.missing = 'missing' in cassette ? cassette.missing : null
    this.interactions = found?.interactions ?? []
    this.#rules = [...(found?.header.volatile ?? []), ...rules].filter(
      ({ name }, index, all) => all.findIndex((rule) => rule.name === name) === index,
    )
    for (const { name } of this.#rules) this.applied.set(name, 0)
    for (const interaction of this.interactions) {
      const queue = this.#queues.getOrInsertComputed(cassetteKey(interaction.request, this.#rules), () => ({
        ...{ entries: [], used: 0, faulty: [] },
      }))
      for (const attempt of interaction.attempts) queue.entries.push({ interaction, attempt, queue })
    }
  }

  /**
   * Takes the next recorded attempt of a request, with the request's own values in place of redacted ones.
   * @throws ReplayMiss if there is none
   */
  take(sent: UpstreamRequest, { isFaulty }: Pick<SentAttempt, 'isFaulty'>): RecordedAttempt {
    const { redactor, allow } = this.#options
    const redacted = redactor.request(sent)
    for (const [name, count] of comparableRequest(redacted, this.#rules).applied)
      this.applied.set(name, (this.applied.get(name) ?? 0) + count)
    const queue = this.#queues.get(cassetteKey(redacted, this.#rules))
    const exact = queue && nextIn(queue)
    const entry =
      exact ??
      allow
        .values()
        .map((kind) => this.#takeWeakly(kind, redacted))
        .find((one) => one !== undefined)
    if (!entry) throw this.#unmatched(redacted, queue)
    if (isFaulty) entry.queue.faulty.push({ entry, isFaulty })
    this.#everUsed.add(entry.attempt)
    this.replayed++
    return redactor.restore(entry.attempt, sent, entry.interaction.request)
  }

  /** The error for a client that goes on where the recording ends. */
  stopped(attempt: SentAttempt, reason: MissReason, message: string): ReplayMiss {
    return this.#miss(attempt, { reason, message })
  }

  /** Notes that the request of a miss goes to its provider instead. */
  forward(miss: Miss): void {
    this.forwarded++
    this.missCount--
    const index = this.misses.indexOf(miss)
    if (index >= 0) this.misses.splice(index, 1)
  }

  /** Begins anew: every recorded attempt can be replayed again. */
  rewind(): void {
    for (const queue of this.#queues.values()) Object.assign(queue, { used: 0, faulty: [] })
  }

  /** Attempts that no request has used, by interaction. */
  unused(): { interaction: PlacedInteraction; unused: number }[] {
    return this.interactions
      .map((interaction) => ({
        interaction,
        unused: interaction.attempts.filter((attempt) => !this.#everUsed.has(attempt)).length,
      }))
      .filter(({ unused }) => unused > 0)
  }

  #takeWeakly(kind: WeakMatching, redacted: UpstreamRequest): TapeEntry | undefined {
    const queues = this.#weakQueues.getOrInsertComputed(kind, () => {
      const made = new Map<string, Set<Queue>>()
      for (const queue of this.#queues.values())
        for (const { interaction } of queue.entries)
          for (const request of recordedAs(kind, interaction.request))
            made.getOrInsertComputed(cassetteKey(request, this.#rules), () => new Set()).add(queue)
      return made
    })
    for (const request of sentAs(kind, redacted)) {
      for (const queue of queues.get(cassetteKey(request, this.#rules)) ?? []) {
        const entry = nextIn(queue)
        if (!entry) continue
        this.weak.set(kind, (this.weak.get(kind) ?? 0) + 1)
        return entry
      }
    }
    return undefined
  }

  #unmatched(redacted: UpstreamRequest, queue: Queue | undefined): ReplayMiss {
    if (this.missing !== null) return this.#miss(redacted, { reason: 'no cassette', message: this.missing })
    if (queue) {
      const lines = [...new Set(queue.entries.map(({ interaction }) => interaction.line))].join(', ')
      const count = queue.entries.length
      const message = `the cassette has ${count === 1 ? 'one attempt' : `${count} attempts`} with this request (line ${lines}), and this is one more`
      return this.#miss(redacted, { reason: 'all used', message })
    }
    const found = nearestInteraction(redacted, this.interactions, this.#rules)
    const nearest = found ? { line: found.interaction.line, differences: found.differences } : null
    const message = 'the cassette has no interaction with this request'
    return this.#miss(redacted, { reason: 'no interaction', message, nearest })
  }

  #miss(
    { operation, provider, model }: Pick<UpstreamRequest, 'operation' | 'provider' | 'model'>,
    { reason, message, nearest = null }: Pick<Miss, 'reason' | 'message'> & Partial<Pick<Miss, 'nearest'>>,
  ): ReplayMiss {
    const { session } = this.#options
    const whole = { session, operation, model: `${provider}/${model}`, reason, message, nearest }
    this.missCount++
    if (this.misses.length < MAX_MISSES) this.misses.push(whole)
    return new ReplayMiss(whole, this.#options)
  }
}

/** The attempt for the next request. */
function nextIn(queue: Queue): TapeEntry | undefined {
  const changed = queue.faulty.findIndex(({ isFaulty }) => isFaulty())
  if (changed >= 0) return queue.faulty.splice(changed, 1)[0]?.entry
  const entry = queue.entries[queue.used]
  if (entry) queue.used++
  return entry
}

// Weaker matching, which exists only where it is allowed: requests that differ in how a model samples, or where one
// conversation continues another.

/** Fields that influence how a model samples, and nothing else. */
const SAMPLING: ReadonlySet<string> = new Set([
  ...['temperature', 'top_p', 'top_k', 'seed', 'min_p', 'top_a', 'repetition_penalty'],
  ...['presence_penalty', 'frequency_penalty', 'logit_bias'],
  // In Google's API.
  ...['topP', 'topK', 'presencePenalty', 'frequencyPenalty'],
])
/** Where Google's API has such fields. */
const GENERATION_CONFIG = 'generationConfig'
const CONVERSATIONS = ['messages', 'input', 'contents']

const withBody = (request: UpstreamRequest, value: JsonObject): UpstreamRequest => ({
  ...request,
  body: { kind: 'json', value },
})

const unsampled = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !SAMPLING.has(name)))

/** The request without those fields; none if it is not JSON. */
function withoutSampling(request: UpstreamRequest): UpstreamRequest[] {
  const { body } = request
  if (body.kind !== 'json' || !isObject(body.value)) return []
  const { [GENERATION_CONFIG]: config, ...fields } = body.value
  const compared = withBody(request, {
    ...unsampled(fields),
    ...(config !== undefined && { [GENERATION_CONFIG]: isObject(config) ? unsampled(config) : config }),
  })
  return [compared]
}

/** The request with each beginning of its conversation that ends with a message of the user, the longest first. */
function beginnings(request: UpstreamRequest): UpstreamRequest[] {
  const { body } = request
  if (body.kind !== 'json' || !isObject(body.value)) return []
  const fields = body.value
  const name = CONVERSATIONS.find((one) => Array.isArray(fields[one]))
  if (name === undefined) return []
  const messages = fields[name] as readonly unknown[]
  return messages
    .flatMap((message, index) => (isObject(message) && message.role === 'user' ? [index + 1] : []))
    .reverse()
    .map((length) => withBody(request, { ...fields, [name]: messages.slice(0, length) }))
}

/** The request whose key a recorded request has in weak matching. */
const recordedAs = (kind: WeakMatching, request: UpstreamRequest): UpstreamRequest[] =>
  kind === 'sampling' ? withoutSampling(request) : [request]

/** The requests whose keys a sent request is looked up by, the closest first. */
const sentAs = (kind: WeakMatching, request: UpstreamRequest): UpstreamRequest[] =>
  kind === 'sampling' ? withoutSampling(request) : beginnings(request)
