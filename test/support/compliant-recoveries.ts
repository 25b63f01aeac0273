// Ways of well-behaved clients to see to a failed request that are no plain repetition of it: races, continuations, other keys,
// other providers, requests in parts, shorter ones, and prompts that are built anew.
import type { Habit, Scene } from './compliant-habits.ts'
import { type Fate, type Luck, OK } from './simulated-clients.ts'

const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const failure = (luck: Luck): Fate =>
  luck.one<Fate>(
    { outcome: 'http_error', status: 503 },
    { outcome: 'http_error', status: 500 },
    { outcome: 'disconnected', status: 0 },
    { outcome: 'timed_out', status: 504 },
    { outcome: 'disconnected', status: 200, stream: true, begins: 1 },
  )
/** A request that no other client makes. */
const own = ({ question, luck }: Scene, what: string) => `${question} ${what} ${luck.whole(0, 1e9)}`
const pauseOf = (luck: Luck) => (luck.chance(0.5) ? 0 : luck.between(200, 3000))

/** A copy is sent when the first answer is late, and answered; the first fails in the end, which nobody hears. */
const losesHedge: Habit = (scene) => {
  const { world, luck, client } = scene
  const question = own(scene, 'hedge')
  const patience = luck.between(60, 1000)
  const answer = luck.between(1, 1000)
  const late = patience + answer + luck.between(80, 5000)
  const ask = (fate: Fate) => client.call({ question, repeat: 0, key: client.newKey() }, fate, () => {})
  ask({ ...failure(luck), lasts: late })
  if (luck.chance(0.3)) world.after(patience / 2, () => ask({ ...failure(luck), lasts: late }))
  world.after(patience, () => ask({ ...OK, lasts: answer }))
}

/** Two providers at once, one of which fails, soon or late. */
const losesRace: Habit = (scene) => {
  const { luck, client } = scene
  const question = own(scene, 'race')
  const fates: Fate[] = [
    { ...OK, lasts: luck.between(20, 500) },
    { ...failure(luck), lasts: luck.between(0, 400) },
  ]
  if (luck.chance(0.5)) fates.reverse()
  // They are sent together, so the first is under way when the second comes, however slow the network is.
  const lasting = fates.map((fate) => ({ ...fate, lasts: 30 + (fate.lasts ?? 0) }))
  for (const [index, model] of ['openai/gpt-4o', 'anthropic/claude'].entries())
    client.call({ question, repeat: 0, key: client.newKey(), model }, lasting[index] ?? OK, () => {})
}

/** Streams that break off, whose words a model goes on with. */
const continuesStreams: Habit = (scene) => {
  const { world, luck, client } = scene
  const opening = [{ role: 'system', content: 'Tell stories.' }, user(own(scene, 'story'))]
  const breaks = luck.whole(1, 3)
  const joins = luck.chance(0.5)
  const attempt = (before: object[], said: string, turn: number): void => {
    const words = `part ${turn} of it, cut at ${luck.whole(0, 99)}`
    const squeezed = words.replaceAll(' ', '')
    const cut: Fate = { outcome: 'disconnected', status: 200, stream: true, begins: 1, lasts: 30, words: squeezed }
    client.call(
      { question: { messages: before, stream: true }, repeat: 0, key: client.newKey() },
      turn < breaks ? cut : { ...OK, stream: true },
      (how) => {
        if (how.outcome === 'succeeded') return
        // The end of what was sent may not have come to it.
        const heard = words.slice(0, luck.whole(3, words.length))
        const all = joins ? said + heard : heard
        const more =
          luck.chance(0.5) || !joins ? [user(luck.one('continue', 'Please go on.', 'Continue where you left off'))] : []
        const next = [...(joins ? opening : before), assistant(all), ...more]
        world.after(pauseOf(luck), () => attempt(next, all, turn + 1))
      },
    )
  }
  attempt(opening, '', 0)
}

/** Keys that each meet their own limit, until one does not. */
const rotatesKeys: Habit = (scene) => {
  const { world, luck, client } = scene
  const question = own(scene, 'keys')
  const keys = luck.whole(2, 6)
  const status = luck.one(429, 429, 401, 403)
  const wait = status === 429 ? luck.one(undefined, 1000, 20_000) : undefined
  const key = client.newKey()
  const attempt = (turn: number): void => {
    const fate: Fate = turn < keys - 1 ? { outcome: 'http_error', status, ...(wait !== undefined && { wait }) } : OK
    client.call({ question, repeat: turn, key, caller: `key ${turn}` }, fate, ({ outcome }) => {
      if (outcome !== 'succeeded') world.after(luck.between(0, 20), () => attempt(turn + 1))
    })
  }
  attempt(0)
}

/** Texts in one call, in halves when that fails, and so on. */
const splitsBatches: Habit = (scene) => {
  const { world, luck, client } = scene
  const name = own(scene, 'text')
  const ask = (input: readonly string[], mayFail: boolean): void => {
    const fate =
      mayFail && input.length > 1 && luck.chance(0.7)
        ? luck.one<Fate>({ outcome: 'http_error', status: 500 }, { outcome: 'disconnected', status: 0 })
        : OK
    const asked = {
      question: { input },
      operation: 'embeddings',
      model: 'openai/embed',
      repeat: 0,
      key: client.newKey(),
    }
    client.call(asked, fate, ({ outcome }) => {
      if (outcome === 'succeeded') return
      const size = luck.chance(0.7) ? Math.ceil(input.length / 2) : 1
      for (let at = 0; at < input.length; at += size)
        world.after(pauseOf(luck), () => ask(input.slice(at, at + size), size > 1))
    })
  }
  ask(
    Array.from({ length: luck.whole(2, 12) }, (_, index) => `${name} ${index % 7}`),
    true,
  )
}

/** A conversation that is too long, and is asked again without its oldest turns. */
const shortens: Habit = (scene) => {
  const { world, luck, client } = scene
  const name = own(scene, 'talk')
  const turns = Array.from({ length: 2 * luck.whole(1, 4) }, (_, index) =>
    index % 2 === 0 ? user(`${name} ${index}`) : assistant(`answer ${index}`),
  )
  const fate = luck.one<Fate>(
    { outcome: 'http_error', status: 400 },
    { outcome: 'http_error', status: 413 },
    { outcome: 'http_error', status: 500 },
  )
  const ask = (messages: object[], end: Fate, done: () => void) =>
    client.call(
      { question: { messages: [...messages, user(`${name} and now?`)] }, repeat: 0, key: client.newKey() },
      end,
      done,
    )
  ask(turns, fate, () =>
    world.after(pauseOf(luck), () => ask(turns.slice(2 * luck.whole(1, turns.length / 2)), OK, () => {})),
  )
}

/** A prompt that is built anew for each try, with the time and an id. */
const rebuildsPrompts: Habit = (scene) => {
  const { world, luck, client } = scene
  const name = own(scene, 'prompt')
  const tries = luck.whole(1, 4)
  const written = luck.one<() => string>(
    () => `It is ${new Date(world.now()).toISOString()}.`,
    () => `Now: ${Math.floor(world.now() / 1000) + 1_700_000_000}`,
    () => `Today is ${new Date(world.now()).toUTCString()}.`,
    () => `Trace ${luck.whole(1e7, 9e7)}-aaaa-4bbb-8ccc-${luck.whole(1e11, 9e11)}`,
  )
  const attempt = (turn: number): void => {
    const messages = [{ role: 'system', content: written() }, user(name)]
    const fate = turn < tries ? failure(luck) : OK
    client.call({ question: { messages }, repeat: 0, key: client.newKey() }, fate, ({ outcome }) => {
      if (outcome !== 'succeeded') world.after(pauseOf(luck), () => attempt(turn + 1))
    })
  }
  attempt(0)
}

/** A request that is asked of another provider in the words of its API. */
const translates: Habit = (scene) => {
  const { world, luck, client } = scene
  const name = own(scene, 'words')
  const chat = { messages: [{ role: 'system', content: 'Be brief.' }, user(name)], temperature: 1 }
  const responses = { instructions: 'Be brief.', input: [user([{ type: 'input_text', text: name }])] }
  const messages = {
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [user([{ type: 'text', text: name }])],
    max_tokens: 9,
  }
  const [first, second] = luck.one([chat, messages], [responses, messages], [messages, chat], [chat, responses])
  const operation = (body: object) => (body === responses ? 'responses' : 'chat.completions')
  client.call(
    {
      question: first ?? chat,
      operation: operation(first ?? chat),
      model: 'openai/gpt-4o',
      repeat: 0,
      key: client.newKey(),
    },
    failure(luck),
    () =>
      world.after(luck.between(0, 500), () =>
        client.call(
          {
            question: second ?? chat,
            operation: operation(second ?? chat),
            model: 'anthropic/claude',
            repeat: 0,
            key: client.newKey(),
          },
          OK,
          () => {},
        ),
      ),
  )
}

/** By name. */
export const RECOVERIES: Readonly<Record<string, Habit>> = {
  ...{ losesHedge, losesRace, continuesStreams, rotatesKeys, splitsBatches, shortens, rebuildsPrompts, translates },
}
