// Clients, a server and a network in memory, on a time of their own: what a judge of clients is held to.
import type { FindingKind } from '../../src/contract/core/finding.ts'
import { type Question, readQuestion } from '../../src/lib/question.ts'
import type { ClientCall } from '../../src/verdict/client-call.ts'
import type { ClientEnd } from '../../src/verdict/kinds/define.ts'

/** Chance that a seed decides. */
export function luckOf(seed: number) {
  let state = (seed * 2654435761) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + next() * (high - low)
  return {
    next,
    between,
    whole: (low: number, high: number) => Math.floor(between(low, high + 1)),
    one: <Item>(...items: readonly [Item, ...Item[]]): Item => items[Math.floor(next() * items.length)] ?? items[0],
    chance: (probability: number) => next() < probability,
  }
}
export type Luck = ReturnType<typeof luckOf>

/** What the server makes of a call. */
export interface Fate {
  outcome: ClientCall['outcome']
  status: number
  code?: string
  wait?: number
  stream?: boolean
  attempts?: number
  /** How long it takes. */
  lasts?: number
  /** When the first part of a stream comes. */
  begins?: number
  /** What is said in it, without spaces. */
  words?: string
  /** The tool calls in it that are cut off. */
  cutCalls?: readonly string[]
}
export const OK: Fate = { outcome: 'succeeded', status: 200 }

/** Questions that were read before: clients repeat them. */
const questions = new Map<string, Question>()
function questionIn(text: string): Question {
  const found = questions.get(text) ?? readQuestion(text)
  if (questions.size > 1000) questions.clear()
  questions.set(text, found)
  return found
}

/** What a client sends. */
export interface Sent {
  operation: string
  model: string
  /** The body, without the model. */
  body: object
  request: string
  retry: number | null
  key: string | null
  caller?: string
  connection: string | null
}

interface Event {
  at: number
  run(): void
}

/** A call under way. */
export interface InFlight {
  cancel(): void
}

/** Pauses that a virtual clock does not follow, in ms. */
const NOT_FOLLOWED_MS = 350

/** When a call came and ended: on a session's clock that goes with the machine's. */
function realTime(now: () => number) {
  const alone = { arrived: null, left: null }
  return { arrival: () => ({ began: now(), ended: now(), ...alone }), departure: () => ({ ended: now() }) }
}

/** The same on a virtual clock: latency passes in full, and pauses of the client only when they are long. */
function virtualTime(now: () => number) {
  let skipped = 0
  let underWay = 0
  let idleSince = 0
  return {
    arrival() {
      const pause = now() - idleSince
      if (underWay === 0 && pause < NOT_FOLLOWED_MS) skipped += pause
      underWay++
      return { began: now() - skipped, ended: now() - skipped, arrived: now(), left: now() }
    },
    departure() {
      underWay--
      idleSince = now()
      return { ended: now() - skipped, left: now() }
    },
  }
}

/** A server that numbers calls as they come; time goes on when nothing else can. */
export function createWorld(luck: Luck) {
  const events: Event[] = []
  const calls: ClientCall[] = []
  let now = 0
  let connections = 0
  const after = (ms: number, run: () => void) => {
    const event = { at: now + ms, run }
    let index = events.length
    while (index > 0 && (events[index - 1]?.at ?? 0) > event.at) index--
    events.splice(index, 0, event)
  }
  // Most networks are fast; some are not.
  const slow = luck.one(0, 1, 1, 5, 25)
  const lag = () => luck.next() * slow
  const clock = luck.chance(0.35) ? virtualTime(() => now) : realTime(() => now)
  return {
    calls,
    after,
    now: () => now,
    newConnection: () => `c${++connections}`,
    /** Sends a call; the client is told how it ended. Its own end of it can come first. */
    send(sent: Sent, fate: Fate, done: (fate: Fate) => void): InFlight {
      let over = false
      let gone = false
      let call: ClientCall | undefined
      let came = 0
      const end = (how: Fate) => {
        if (!call || over) return
        over = true
        Object.assign(call, {
          ...clock.departure(),
          until: calls.length,
          outcome: how.outcome,
          status: how.status,
          code: how.code ?? null,
          tooLong: how.code === 'context_length_exceeded',
          wait: how.wait ?? null,
          stream: fate.stream ?? false,
          begun: fate.stream === true && now - came >= (fate.begins ?? 0),
          attempts: how.attempts ?? 1,
        })
        if (!gone) after(lag(), () => gone || done(how))
      }
      after(lag(), () => {
        // Whoever leaves before the server hears of it was never there.
        if (gone) return
        const { retry, key, connection, caller, body, ...asked } = sent
        came = now
        const arriving: ClientCall = {
          ...asked,
          question: questionIn(JSON.stringify(body)),
          responseText: () => fate.words ?? '',
          cutCalls: () => fate.cutCalls ?? [],
          tooLong: false,
          trace: `t${calls.length + 1}`,
          number: calls.length + 1,
          until: Number.POSITIVE_INFINITY,
          ...clock.arrival(),
          stream: false,
          begun: false,
          outcome: 'canceled',
          status: 499,
          code: null,
          wait: null,
          attempts: 1,
          disturbed: false,
          faulty: false,
          advised: false,
          timeout: undefined,
          hung: undefined,
          readable: false,
          histories: [],
          toResponse: 0,
          gatewayWaits: 0,
          mark: { retry, key, connection, ...(caller !== undefined && { caller }) },
        }
        call = arriving
        calls.push(arriving)
        after(fate.lasts ?? luck.next() * 3, () => end(fate))
      })
      return {
        cancel() {
          gone = true
          after(lag(), () => end({ outcome: 'canceled', status: 499 }))
        },
      }
    },
    /** Plays until nobody has anything to do. */
    run(): readonly ClientCall[] {
      for (let event = events.shift(); event; event = events.shift()) {
        now = event.at
        event.run()
      }
      return calls
    },
  }
}
export type World = ReturnType<typeof createWorld>

/** How a client makes itself known, and how its calls travel. */
export interface Manner {
  marks: 'count' | 'key' | 'both' | 'always 0' | 'none'
  connections: 'pool' | 'fresh' | 'none'
}
export const mannerOf = (luck: Luck): Manner => ({
  marks: luck.one('count', 'key', 'both', 'always 0', 'none', 'none'),
  connections: luck.one('pool', 'pool', 'fresh', 'none'),
})
export const declares = ({ marks }: Manner): boolean => marks === 'count' || marks === 'key' || marks === 'both'

/** What a client asks. */
interface Asked {
  /** The only words of a user, or the whole body. */
  question: string | object
  /** What else is in the request, such as settings. */
  more?: string
  repeat: number
  key: string
  operation?: string
  model?: string
  /** The API key. */
  caller?: string
}

/** The calls of one client: what it knows of its own connections and repetitions. */
export function createClient(world: World, manner: Manner, luck: Luck) {
  const idle: string[] = []
  let keys = 0
  const name = Math.floor(luck.next() * 1e9)
  const connect = () => {
    if (manner.connections === 'none') return null
    return (manner.connections === 'pool' ? idle.pop() : undefined) ?? world.newConnection()
  }
  return {
    newKey: () => `${name}:${++keys}`,
    call(asked: Asked, fate: Fate, done: (fate: Fate) => void) {
      const connection = connect()
      const { marks } = manner
      const { operation = 'chat.completions', model = 'openai/gpt-4o', question, more = '' } = asked
      const body = typeof question === 'string' ? { messages: [{ role: 'user', content: question }] } : question
      const sent: Sent = {
        operation,
        model,
        body,
        // As short as the gateway's, which compares many of them.
        request: Bun.hash(`${JSON.stringify(body)} of ${model} ${more}`).toString(),
        ...(asked.caller !== undefined && { caller: asked.caller }),
        retry: marks === 'count' || marks === 'both' ? asked.repeat : marks === 'always 0' ? 0 : null,
        key: marks === 'key' || marks === 'both' ? asked.key : null,
        connection,
      }
      return world.send(sent, fate, (how) => {
        // What is reset or closed is used no more.
        if (connection !== null && how.outcome !== 'disconnected') idle.push(connection)
        done(how)
      })
    },
  }
}

/** What one simulated day is judged with. */
export interface Day {
  calls: readonly ClientCall[]
  accept: readonly FindingKind[]
  end: ClientEnd
  maxAttempts?: number
}
