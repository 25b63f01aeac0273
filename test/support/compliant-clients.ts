// Well-behaved clients of every sort: back-off, jitter, concurrency, equal bodies, marks of an SDK or none.
import { addHabit } from './compliant-habits.ts'
import {
  createClient,
  createWorld,
  type Day,
  type Fate,
  type Luck,
  luckOf,
  mannerOf,
  OK,
  type World,
} from './simulated-clients.ts'

const BROKEN: Fate = { outcome: 'disconnected', status: 200, stream: true }
const IN_BAND: Fate = { outcome: 'http_error', status: 200, stream: true }

const failureOf = (luck: Luck): Fate => {
  const wait = luck.one(250, 1000, 2000, 20_000)
  return luck.one<Fate>(
    { outcome: 'http_error', status: 503 },
    { outcome: 'http_error', status: 500, attempts: luck.whole(1, 2) },
    { outcome: 'http_error', status: 429, wait },
    { outcome: 'http_error', status: 503, wait },
    { outcome: 'disconnected', status: 0 },
    { outcome: 'timed_out', status: 504, lasts: luck.between(100, 5000) },
    BROKEN,
    IN_BAND,
  )
}
const finalOf = (luck: Luck): Fate => ({ outcome: 'http_error', status: luck.one(400, 401, 403, 404, 413, 422) })
const openOf = (luck: Luck): Fate =>
  luck.one<Fate>(
    { outcome: 'http_error', status: 409 },
    { outcome: 'http_error', status: 429, code: 'insufficient_quota' },
  )

type Backoff = (repeat: number) => number
function backoffOf(luck: Luck): Backoff {
  const base = luck.between(100, 1000)
  const cap = luck.between(1000, 16_000)
  const steady = luck.between(1000, 3000)
  const exponential: Backoff = (repeat) => Math.min(cap, base * 2 ** (repeat - 1))
  return luck.one<Backoff>(
    exponential,
    (repeat) => exponential(repeat) * luck.between(0.75, 1),
    (repeat) => exponential(repeat) * luck.between(0.75, 1.25),
    (repeat) => exponential(repeat) * luck.next(),
    (repeat) => exponential(repeat) / 2 + (exponential(repeat) / 2) * luck.next(),
    () => steady,
    () => steady * luck.between(0.8, 1.2),
    // The first repetition at once, as many do.
    (repeat) => (repeat === 1 ? 0 : exponential(repeat)),
  )
}

/** How a request goes: what fails before its end, and its end. */
interface Story {
  failures: Fate[]
  last: Fate
}

function storyOf(luck: Luck, retries: number, mayGiveUp: boolean): Story {
  const failures = Array.from({ length: luck.whole(0, retries) }, () => failureOf(luck))
  const last = luck.chance(0.75) ? OK : luck.chance(0.6) ? finalOf(luck) : openOf(luck)
  if (mayGiveUp && luck.chance(0.4)) return { failures, last: { outcome: 'http_error', status: 503 } }
  return { failures, last }
}

/** Lets one client do its work in a world. */
function addClient(
  world: World,
  luck: Luck,
  { bodies, mayGiveUp, reports }: { bodies: string; mayGiveUp: boolean; reports: boolean },
): void {
  const client = createClient(world, mannerOf(luck), luck)
  const backoff = backoffOf(luck)
  const retries = luck.one(0, 1, 2, 2, 3, 5, 8)
  const requests = luck.one(1, 1, 2, 3, 6, 12)
  const start = luck.one('at once', 'at once', 'over time', 'one by one')
  const equal = luck.chance(0.6)
  const changesModel = luck.chance(0.15)
  const patience = luck.between(200, 2000)

  const perform = (index: number, done: () => void) => {
    const question = equal ? bodies : `${bodies} ${index}`
    const { failures, last } = storyOf(luck, retries, mayGiveUp)
    const key = client.newKey()
    const attempt = (repeat: number) => {
      const moved = changesModel && repeat > 0
      const asked = {
        question,
        // Another request is no repetition in the terms of an SDK.
        repeat: moved ? 0 : repeat,
        model: `openai/model-${moved ? 2 : 1}`,
        key: moved ? client.newKey() : key,
      }
      const fate = failures[repeat] ?? last
      const again = (wait = 0) =>
        world.after(Math.max(wait + luck.next() * 3, backoff(repeat + 1)), () => attempt(repeat + 1))
      // It gives up waiting now and then, and asks again.
      if (repeat < failures.length && !moved && luck.chance(0.1)) {
        const late = client.call(asked, { ...OK, lasts: patience * 3 }, done)
        world.after(patience, () => {
          late.cancel()
          again()
        })
        return
      }
      client.call(asked, fate, (how) => {
        const isLast = repeat >= failures.length
        // A program that says so and ends with an error need not ask again.
        if (reports && how.status === 200 && how.outcome !== 'succeeded') return done()
        if (isLast) return done()
        again(how.wait)
      })
    }
    attempt(0)
  }
  if (start === 'one by one') {
    const next = (index: number): void => {
      if (index < requests) perform(index, () => world.after(luck.between(0, 50), () => next(index + 1)))
    }
    next(0)
    return
  }
  const spread = start === 'at once' ? luck.one(0, 1, 10) : 5000
  for (let index = 0; index < requests; index++) world.after(luck.between(0, spread), () => perform(index, () => {}))
}

/** A day of one to three well-behaved clients, which may ask for the same. */
export function compliantRun(seed: number): Day & { habits: string[] } {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const mayGiveUp = luck.chance(0.25)
  const reports = luck.chance(0.15)
  const shared = luck.chance(0.3)
  const clients = luck.one(1, 1, 2, 3)
  for (let index = 0; index < clients; index++) {
    addClient(world, luck, { bodies: shared ? 'hello' : `hello ${index}`, mayGiveUp, reports })
  }
  const habits = Array.from({ length: luck.one(0, 1, 1, 2) }, (_, index) =>
    addHabit(world, luck, shared ? 'hello' : `habit ${index}`),
  )
  return {
    habits,
    calls: world.run(),
    accept: mayGiveUp ? ['gave-up'] : [],
    end: reports ? 'badly' : luck.one('well', 'unknown', undefined),
  }
}
/** Adds a well-behaved client with requests of its own to a world in which another misbehaves. */
export const addBystander = (world: World, luck: Luck, number: number): void =>
  addClient(world, luck, { bodies: `bystander ${number}`, mayGiveUp: false, reports: false })
