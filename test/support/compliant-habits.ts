// Habits of well-behaved clients that look like misbehaviour from afar: races, timeouts, polls, limits, streams left early.
import { RECOVERIES } from './compliant-recoveries.ts'
import {
  createClient,
  type Fate,
  type InFlight,
  type Luck,
  type Manner,
  mannerOf,
  OK,
  type World,
} from './simulated-clients.ts'

/** What a habit is given. */
export interface Scene {
  world: World
  luck: Luck
  client: ReturnType<typeof createClient>
  manner: Manner
  question: string
}
/** One request of a client, under a key of its own. */
const askIn = ({ client, question }: Scene, model = 1) => {
  const key = client.newKey()
  return (repeat: number, fate: Fate, done: (how: Fate) => void): InFlight =>
    client.call({ question, repeat, key, model: `openai/model-${model}` }, fate, done)
}
const politely = (luck: Luck, repeat: number) => luck.between(300, 600) * 2 ** repeat
const down: Fate = { outcome: 'http_error', status: 503 }

export type Habit = (scene: Scene) => void

/** A second copy while the first is slow; whichever is answered first ends the other. */
const hedges: Habit = (scene) => {
  const { world, luck } = scene
  const patience = luck.between(50, 1000)
  const calls: InFlight[] = []
  let over = false
  const race = (fate: Fate) => {
    if (over) return
    const own = askIn(scene)(0, fate, ({ outcome }) => {
      if (outcome !== 'succeeded') return
      over = true
      for (const call of calls) if (call !== own) call.cancel()
    })
    calls.push(own)
  }
  const copies = luck.whole(2, 3)
  for (let copy = 0; copy < copies; copy++) {
    const isLast = copy === copies - 1
    world.after(copy * patience, () => race(isLast ? OK : { ...OK, lasts: luck.between(patience / 2, patience * 6) }))
  }
}

/** Two models at once, of which the slower is left. */
const races: Habit = (scene) => {
  const { luck } = scene
  const calls: InFlight[] = []
  for (const model of [1, 2]) {
    const own = askIn(scene, model)(0, { ...OK, lasts: luck.between(50, 500) }, () => {
      for (const call of calls) if (call !== own) call.cancel()
    })
    calls.push(own)
  }
}

/** A timeout for each call, and patience in the end. */
const timesOut: Habit = (scene) => {
  const { world, luck } = scene
  const ask = askIn(scene)
  const patience = luck.between(100, 3000)
  const slow = luck.whole(1, 5)
  const attempt = (repeat: number) => {
    if (repeat === slow) return ask(repeat, OK, () => {})
    const call = ask(repeat, { ...OK, lasts: 60_000, stream: luck.chance(0.3), begins: 60_000 }, () => {})
    world.after(patience * luck.between(1, 1.02), () => {
      call.cancel()
      world.after(politely(luck, repeat), () => attempt(repeat + 1))
    })
    return call
  }
  attempt(0)
}

/** The same at each beat, whatever became of the last one. */
const polls: Habit = (scene) => {
  const { world, luck } = scene
  const beat = luck.one(600, 1000, 5000, 30_000)
  const polls = luck.whole(3, 40)
  const ills = luck.whole(0, polls - 2)
  for (let poll = 0; poll < polls; poll++) {
    const ill = poll < polls - 1 && poll >= luck.whole(0, 3) && poll < ills
    world.after(poll * beat + luck.between(0, 5), () =>
      askIn(scene)(0, ill ? luck.one<Fate>(down, { outcome: 'disconnected', status: 0 }) : OK, () => {}),
    )
  }
}

/** Many requests, so many at a time. */
const queues: Habit = (scene) => {
  const { world, luck } = scene
  const slots = luck.one(1, 2, 5)
  let left = luck.whole(4, 20)
  const isEqual = luck.chance(0.5)
  const wait = luck.one(undefined, 137, 1000)
  const next = (): void => {
    if (left-- <= 0) return
    const ask = askIn(isEqual ? scene : { ...scene, question: `${scene.question} ${left}` })
    const failures = luck.whole(0, 2)
    const attempt = (repeat: number): InFlight =>
      ask(repeat, repeat < failures ? { outcome: 'http_error', status: 429, ...(wait && { wait }) } : OK, (how) => {
        if (how.outcome === 'succeeded') next()
        else world.after(how.wait ?? politely(luck, repeat), () => attempt(repeat + 1))
      })
    attempt(0)
  }
  for (let slot = 0; slot < slots; slot++) next()
}

/** Calls that a bucket of tokens lets through, one at each beat, though they take longer than that. */
const throttles: Habit = (scene) => {
  const { world, luck } = scene
  const beat = luck.one(50, 200, 1000)
  const calls = luck.whole(4, 15)
  for (let call = 0; call < calls; call++) {
    world.after(call * beat, () => askIn(scene)(0, { ...OK, lasts: beat * luck.between(0.3, 4) }, () => {}))
  }
}

/** Streams of which it has read enough after some chunks. */
const leavesEarly: Habit = (scene) => {
  const { world, luck } = scene
  const streams = luck.whole(1, 8)
  const enough = luck.between(10, 500)
  const read = (stream: number): void => {
    if (stream === streams) return
    const call = askIn(scene)(0, { ...OK, stream: true, begins: 2, lasts: 5000 }, () => {})
    // Its content has to come to it first.
    world.after(60 + enough, () => {
      call.cancel()
      world.after(luck.between(0, 200), () => read(stream + 1))
    })
  }
  read(0)
}

/** A person who stops an answer before it begins, and may ask once more. */
const stops: Habit = (scene) => {
  const { world, luck } = scene
  const times = luck.whole(1, 2)
  for (let time = 0; time < times; time++) {
    world.after(time * 20_000, () => {
      const call = askIn(scene)(0, { ...OK, stream: true, begins: 60_000, lasts: 60_000 }, () => {})
      world.after(luck.between(500, 10_000), () => call.cancel())
    })
  }
}

/** Ends while calls are under way. */
const shutsDown: Habit = (scene) => {
  const { world, luck } = scene
  const calls = Array.from({ length: luck.whole(1, 6) }, () => askIn(scene)(0, { ...OK, lasts: 60_000 }, () => {}))
  world.after(luck.between(10, 3000), () => {
    for (const call of calls) call.cancel()
  })
}

/** Waits to the millisecond as it is told, by whichever header, and a timer may be a little early. */
const obeys: Habit = (scene) => {
  const { world, luck } = scene
  const ask = askIn(scene)
  const failures = luck.whole(1, 6)
  const attempt = (repeat: number): InFlight =>
    ask(repeat, repeat < failures ? { ...down, wait: luck.one(1, 37, 137, 1000, 2500, 60_000) } : OK, ({ wait }) => {
      if (wait !== undefined) world.after(Math.max(0, wait - luck.one(0, 1, 5)), () => attempt(repeat + 1))
    })
  attempt(0)
}

/** Asks another model when the first does not answer. */
const turns: Habit = (scene) => {
  const { world, luck } = scene
  const ill = luck.one<Fate>(down, { ...down, wait: 20_000 }, { outcome: 'timed_out', status: 504 })
  askIn(scene)(0, ill, () => world.after(luck.between(0, 5), () => askIn(scene, 2)(0, OK, () => {})))
}

const cut: Fate = { outcome: 'disconnected', status: 200, stream: true, begins: 2, lasts: 40 }

/** Direct streams that are cut, each asked for again after a pause until one is whole. */
const asksAgainForCutStreams: Habit = (scene) => {
  const { world, luck } = scene
  const ask = askIn(scene)
  const cuts = luck.whole(1, 4)
  const attempt = (repeat: number): InFlight =>
    ask(repeat, repeat < cuts ? { ...cut, lasts: luck.between(5, 20_000) } : { ...OK, stream: true }, (how) => {
      if (how.outcome !== 'succeeded') world.after(politely(luck, repeat), () => attempt(repeat + 1))
    })
  attempt(0)
}

/** An SDK that repeats twice, with its pauses, and then leaves the error to its program, which tells its user. */
const exhaustsRetries: Habit = (scene) => {
  const { world, luck } = scene
  const ask = askIn(scene)
  const fate = luck.one<Fate>(
    down,
    { outcome: 'disconnected', status: 0 },
    { outcome: 'timed_out', status: 504, lasts: luck.between(100, 5000) },
    { outcome: 'http_error', status: 429, wait: luck.one(500, 2000) },
  )
  const attempt = (repeat: number): InFlight =>
    ask(repeat, fate, ({ wait }) => {
      const pause = 500 * 2 ** repeat * luck.between(0.75, 1)
      if (repeat < 2) world.after(Math.max(pause, (wait ?? 0) + luck.next() * 3), () => attempt(repeat + 1))
    })
  attempt(0)
}

/** A program that asks another provider, by another API as well, when the first one fails or breaks off. */
const fallsBack: Habit = ({ world, luck, client, question }) => {
  const first = luck.one<Fate>(
    down,
    cut,
    { ...down, wait: 20_000 },
    { outcome: 'invalid_response', status: 200, stream: true },
  )
  const asked = { question, repeat: 0 }
  const other = { key: client.newKey(), model: 'anthropic/claude' }
  const operation = luck.one('chat.completions', 'responses')
  client.call({ ...asked, key: client.newKey(), model: 'openai/gpt-4o', operation }, first, () =>
    world.after(luck.between(0, 50), () => client.call({ ...asked, ...other }, { ...OK, stream: true }, () => {})),
  )
}

/** Users who ask the same, one after the other, and are all answered. */
const servesEqualUsers: Habit = (scene) => {
  const { world, luck } = scene
  let users = luck.whole(2, 12)
  const next = (): void => {
    if (users-- > 0) askIn(scene)(0, { ...OK, stream: luck.chance(0.5) }, () => world.after(luck.between(0, 30), next))
  }
  next()
}

const HABITS = {
  ...{ hedges, races, timesOut, polls, queues, throttles, leavesEarly, stops, shutsDown, obeys, turns },
  ...{ asksAgainForCutStreams, exhaustsRetries, fallsBack, servesEqualUsers },
  ...RECOVERIES,
}

/** Lets a client with one such habit do its work in a world; says what it was. */
export function addHabit(world: World, luck: Luck, question: string): string {
  const [name, habit] = luck.one(...(Object.entries(HABITS) as [[string, Habit], ...[string, Habit][]]))
  const manner = mannerOf(luck)
  const client = createClient(world, manner, luck)
  world.after(luck.between(0, 5000), () => habit({ world, luck, client, manner, question }))
  return name
}
