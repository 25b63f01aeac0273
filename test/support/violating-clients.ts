// Clients that misbehave in one known way each, among others that do not.
import type { FindingKind } from '../../src/contract/core/finding.ts'
import { CONVERSATION_PLANTS } from './agent-conversations.ts'
import { addBystander } from './compliant-clients.ts'
import {
  createClient,
  createWorld,
  type Day,
  declares,
  type Fate,
  type Luck,
  luckOf,
  type Manner,
  mannerOf,
  OK,
  type World,
} from './simulated-clients.ts'

interface Loop {
  manner: Manner
  /** The fates of its calls, one after the other. */
  fates: readonly Fate[]
  pause(repeat: number, before: Fate): number
}

/** One request, repeated as long as there are fates. */
function loop(world: World, luck: Luck, { manner, fates, pause }: Loop): void {
  const client = createClient(world, manner, luck)
  const key = client.newKey()
  const attempt = (repeat: number): void => {
    const fate = fates[repeat]
    if (!fate) return
    client.call({ question: 'guilty', repeat, key }, fate, (how) =>
      world.after(pause(repeat + 1, how), () => attempt(repeat + 1)),
    )
  }
  world.after(luck.between(0, 3000), () => attempt(0))
}

const unavailable: Fate = { outcome: 'http_error', status: 503 }
const many = (count: number, fate: Fate): Fate[] => Array.from({ length: count }, () => fate)
const declaring = (luck: Luck): Manner => ({ ...mannerOf(luck), marks: luck.one('count', 'key', 'both') })
const politely = (luck: Luck) => (repeat: number, before: Fate) =>
  (before.wait ?? 0) + luck.between(300, 600) * 2 ** repeat

/** A timeout ends each call before anything comes, and then nobody asks again. */
function hangUp(world: World, luck: Luck): Partial<Day> {
  const manner = mannerOf(luck)
  const client = createClient(world, manner, luck)
  const key = client.newKey()
  const tries = declares(manner) ? luck.whole(2, 5) : luck.whole(3, 6)
  const patience = luck.between(300, 5000)
  const attempt = (repeat: number): void => {
    if (repeat === tries) return
    const asked = { question: 'guilty', repeat, key }
    const call = client.call(asked, { ...OK, lasts: 60_000 }, () => {})
    world.after(patience * luck.between(1, 1.03), () => {
      call.cancel()
      world.after(luck.between(0, 500) * 2 ** repeat, () => attempt(repeat + 1))
    })
  }
  world.after(luck.between(0, 3000), () => attempt(0))
  return {}
}

/** How each kind is planted; what it returns goes with the day. */
export const plants: Record<
  // What is found of waiting and of conversations is shown through the front door.
  Exclude<FindingKind, 'unknown-path' | 'history-refused' | 'not-exercised' | 'no-timeout' | 'deadline-exceeded'>,
  (world: World, luck: Luck) => Partial<Day>
> = {
  'early-retry'(world, luck) {
    const wait = luck.one(500, 1000, 2000, 20_000)
    const fates = [...many(luck.whole(1, 4), { outcome: 'http_error', status: luck.one(429, 503), wait }), OK]
    const manner = mannerOf(luck)
    // Calls of no mark on connections of their own that come at once may be many clients.
    const shortest = manner.connections === 'fresh' && !declares(manner) ? 80 : 0
    loop(world, luck, { manner, fates, pause: () => Math.max(shortest, luck.between(0, 0.8) * wait) })
    return {}
  },
  'retry-storm'(world, luck) {
    const pause = luck.one(0, 1, 20, 100, 300)
    const fate = luck.one<Fate>(
      unavailable,
      { outcome: 'disconnected', status: 0 },
      { outcome: 'http_error', status: 429, wait: 5000 },
    )
    const fates = [...many(luck.whole(25, 80), fate), ...(luck.chance(0.5) ? [OK] : [])]
    // A loop in one program: its calls are on one connection, or on new ones one after the other.
    const manner = mannerOf(luck)
    loop(world, luck, {
      manner: fate.outcome === 'disconnected' ? { ...manner, connections: 'none' } : manner,
      fates,
      pause: () => pause * luck.between(0.9, 1.1),
    })
    return { accept: luck.one<FindingKind[]>([], ['gave-up']) }
  },
  'no-backoff'(world, luck) {
    const fate = luck.one<Fate>(
      unavailable,
      { outcome: 'http_error', status: 429 },
      { outcome: 'timed_out', status: 504 },
    )
    const fates = [...many(luck.whole(3, 9), fate), OK]
    // On connections of their own, equal calls without a mark may be of different clients.
    const manner = mannerOf(luck)
    const kept: Manner = declares(manner) ? manner : { ...manner, connections: 'pool' }
    loop(world, luck, { manner: kept, fates, pause: () => luck.between(0, 180) })
    return {}
  },
  'gave-up'(world, luck) {
    const fate = luck.one<Fate>(
      unavailable,
      { outcome: 'http_error', status: 429, wait: 1000 },
      { outcome: 'timed_out', status: 504 },
      { outcome: 'disconnected', status: 0 },
    )
    if (luck.chance(0.3)) return hangUp(world, luck)
    loop(world, luck, { manner: mannerOf(luck), fates: many(luck.whole(1, 4), fate), pause: politely(luck) })
    return {}
  },
  swallowed(world, luck) {
    const fate: Fate = {
      outcome: luck.one('disconnected', 'http_error', 'timed_out', 'invalid_response'),
      status: 200,
      stream: true,
    }
    loop(world, luck, { manner: mannerOf(luck), fates: [fate], pause: () => 0 })
    return { end: luck.one('well', undefined) }
  },
  'ignored-status'(world, luck) {
    const manner = mannerOf(luck)
    const count = declares(manner) ? luck.whole(2, 5) : luck.whole(4, 8)
    const fates = many(count, { outcome: 'http_error', status: luck.one(400, 401, 403, 422) })
    const base = luck.between(200, 1000)
    const growth = luck.one(1, 2)
    loop(world, luck, { manner, fates, pause: (repeat) => base * growth ** repeat })
    return {}
  },
  'retry-amplification'(world, luck) {
    const attempts = luck.whole(4, 6)
    const count = luck.whole(5, 8)
    const fates = [...many(count, { ...unavailable, attempts }), { ...OK, attempts }]
    loop(world, luck, { manner: mannerOf(luck), fates, pause: politely(luck) })
    return luck.chance(0.5) ? { maxAttempts: luck.whole(3, 20) } : {}
  },
  'not-canceled'(world, luck) {
    const client = createClient(world, declaring(luck), luck)
    const key = client.newKey()
    const lasts = luck.between(3000, 20_000)
    const patience = luck.between(100, 1000)
    const repeats = luck.whole(1, 3)
    const attempt = (repeat: number): void => {
      const fate = repeat < repeats ? { ...OK, lasts: lasts + patience * repeats } : OK
      client.call({ question: 'guilty', repeat, key }, fate, () => {})
      if (repeat < repeats) world.after(patience, () => attempt(repeat + 1))
    }
    world.after(luck.between(0, 2000), () => attempt(0))
    return {}
  },
  ...CONVERSATION_PLANTS,
}

/** Equal calls at once from a busy machine; the first are refused, and nobody asks again. */
export function slowCrowd(seed: number): Pick<Day, 'calls'> & { failed: number } {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const client = createClient(world, { marks: luck.one('always 0', 'none'), connections: 'fresh' }, luck)
  const failed = luck.whole(1, 3)
  for (let index = 0; index < luck.whole(6, 30); index++) {
    const fate: Fate = index < failed ? { outcome: 'http_error', status: 429, wait: 2000 } : OK
    const asked = { question: 'guilty', repeat: 0, key: client.newKey() }
    // Further apart than what comes at once, taken together, and never one after the other.
    world.after(index * luck.between(5, 8), () => client.call(asked, fate, () => {}))
  }
  return { calls: world.run(), failed }
}

/** A request that fails once and is never repeated, of a client that ends as if all were well. */
export function neverRepeats(seed: number): Day {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const fate = luck.one<Fate>(
    unavailable,
    { outcome: 'http_error', status: 429, wait: 1000 },
    { outcome: 'disconnected', status: 0 },
  )
  loop(world, luck, { manner: mannerOf(luck), fates: [fate], pause: () => 0 })
  for (let number = luck.whole(0, 2); number > 0; number--) addBystander(world, luck, number)
  return { calls: world.run(), accept: [], end: luck.one('unknown', undefined) }
}

/** Users of one program who ask the same, one after the other, and each receive half a story. */
export function halfStories(seed: number): Day & { users: number } {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const client = createClient(
    world,
    { marks: luck.one('always 0', 'none'), connections: luck.one('pool', 'fresh') },
    luck,
  )
  const users = luck.whole(2, 6)
  const fate: Fate = {
    outcome: luck.one('disconnected', 'invalid_response'),
    status: 200,
    stream: true,
    lasts: luck.between(1, 3000),
  }
  const next = (user: number): void => {
    if (user === users) return
    const asked = { question: 'guilty', repeat: 0, key: client.newKey() }
    client.call(asked, fate, () => world.after(luck.between(0, 100), () => next(user + 1)))
  }
  next(0)
  return { calls: world.run(), accept: [], end: luck.one('unknown', undefined), users }
}

/** The requests of a batch: all end with the same words, and differ in what comes before. */
const batchOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    messages: [
      { role: 'system', content: 'You summarize documents.' },
      { role: 'user', content: `Document number ${index} of the batch` },
      { role: 'assistant', content: 'I have read it.' },
      { role: 'user', content: 'Summarize it.' },
    ],
  }))

/** A batch, at once, in a queue or one after the other, some of whose items fail and are never asked again. */
export function lostItems(seed: number): Day & { lost: number } {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const client = createClient(world, mannerOf(luck), luck)
  const items = batchOf(luck.whole(2, 12))
  const lost = luck.whole(1, Math.min(3, items.length - 1))
  const first = luck.whole(0, items.length - lost)
  const isLost = (index: number) => index >= first && index < first + lost
  const slots = luck.one(1, 3, items.length)
  let next = 0
  const work = (): void => {
    const index = next++
    const question = items[index]
    if (!question) return
    const fate = isLost(index) ? luck.one<Fate>(unavailable, { outcome: 'disconnected', status: 0 }) : OK
    const asked = { question, repeat: 0, key: client.newKey() }
    client.call(asked, { ...fate, lasts: luck.between(0, 400) }, () => world.after(luck.between(0, 1500), work))
  }
  for (let slot = 0; slot < slots; slot++) work()
  for (let number = luck.whole(0, 2); number > 0; number--) addBystander(world, luck, number)
  return { calls: world.run(), accept: [], end: luck.one('unknown', 'well', undefined), lost }
}

/** A batch of texts that fails and is asked again in parts, one of which is never sent, or fails and is left. */
export function lostPart(seed: number): Day {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const client = createClient(world, mannerOf(luck), luck)
  const ask = (input: readonly string[], fate: Fate, done: () => void = () => {}) =>
    client.call(
      { question: { input }, operation: 'embeddings', model: 'openai/embed', repeat: 0, key: client.newKey() },
      fate,
      done,
    )
  const texts = Array.from({ length: luck.whole(2, 10) }, (_, index) => `text number ${index}`)
  const size = luck.whole(1, texts.length - 1)
  const parts = Array.from({ length: Math.ceil(texts.length / size) }, (_, at) =>
    texts.slice(at * size, (at + 1) * size),
  )
  const missing = luck.whole(0, parts.length - 1)
  const isSent = luck.chance(0.5)
  ask(texts, luck.one<Fate>(unavailable, { outcome: 'http_error', status: 500 }), () => {
    for (const [index, part] of parts.entries()) {
      if (index === missing && !isSent) continue
      world.after(luck.between(0, 1000), () => ask(part, index === missing ? unavailable : OK))
    }
  })
  for (let number = luck.whole(0, 2); number > 0; number--) addBystander(world, luck, number)
  return { calls: world.run(), accept: [], end: luck.one('unknown', 'well', undefined) }
}

/** A stream that breaks off, whose words are taken for the whole answer in the conversation that goes on. */
export function halfAnswer(seed: number): Day {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const client = createClient(world, mannerOf(luck), luck)
  const opening = [{ role: 'user', content: 'Tell me a story' }]
  const ask = (messages: object[], fate: Fate, done: () => void) =>
    client.call({ question: { messages }, repeat: 0, key: client.newKey() }, fate, done)
  const cut: Fate = { outcome: 'disconnected', status: 200, stream: true, begins: 1, words: 'Onceuponatime' }
  ask(opening, cut, () => {
    const more = { role: 'user', content: luck.one('Thanks. What is the time?', 'Now in French.', 'Who is the hero?') }
    const next = [...opening, { role: 'assistant', content: 'Once upon a' }, more]
    world.after(luck.between(200, 3000), () => ask(next, OK, () => {}))
  })
  return { calls: world.run(), accept: [], end: luck.one('unknown', undefined) }
}

/** A client that says what it repeats, turns to other API keys, and comes back to the first one before its wait is over. */
export function backTooEarly(seed: number): Day {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const client = createClient(world, declaring(luck), luck)
  const keys = luck.whole(2, 4)
  const key = client.newKey()
  const attempt = (turn: number): void => {
    const fate: Fate = turn < keys ? { outcome: 'http_error', status: 429, wait: 30_000 } : OK
    const asked = { question: 'guilty', repeat: turn, key, caller: `key ${turn % keys}` }
    client.call(asked, fate, () => turn < keys && world.after(luck.between(0, 2000), () => attempt(turn + 1)))
  }
  attempt(0)
  return { calls: world.run(), accept: [], end: undefined }
}

/** A day on which one client misbehaves, with up to two that do not. */
export function violatingRun(kind: keyof typeof plants, seed: number): Day {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const more = plants[kind](world, luck)
  for (let number = luck.whole(0, 2); number > 0; number--) addBystander(world, luck, number)
  return { calls: world.run(), accept: [], end: undefined, ...more }
}
