// Clients whose conversations grow call by call: agents that compact, run tools and keep their prompts stable, or do not.
import { addBystander } from './compliant-clients.ts'
import type { Habit } from './compliant-habits.ts'
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

const TOO_LONG: Fate = { outcome: 'http_error', status: 400, code: 'context_length_exceeded' }
type Message = Record<string, unknown>
const user = (content: string): Message => ({ role: 'user', content })
const model = (content: string): Message => ({ role: 'assistant', content })
const calling = (id: string, json: string): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: json } }],
})
const result = (id: string, content: string): Message => ({ role: 'tool', tool_call_id: id, content })
const tools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }]
const long = (about: string): string => `${about}. `.padEnd(6000, 'and so on, ')

/** One call of a conversation, and what becomes of it. */
interface Step {
  messages: Message[]
  fate?: Fate
}

/** Calls one after the other, each after the answer to the one before. */
function makeCalls(
  client: ReturnType<typeof createClient>,
  { world, luck }: { world: World; luck: Luck },
  steps: readonly Step[],
) {
  const next = (index: number): void => {
    const step = steps[index]
    if (!step) return
    const question = { tools, messages: step.messages }
    client.call({ question, repeat: 0, key: client.newKey() }, step.fate ?? OK, () =>
      world.after(luck.between(5, 2000), () => next(index + 1)),
    )
  }
  next(0)
}

const habit =
  (steps: (scene: { luck: Luck; question: string }) => readonly Step[]): Habit =>
  ({ world, luck, client, question }) =>
    makeCalls(client, { world, luck }, steps({ luck, question }))

/** The turns of a conversation up to a number of its questions; what the model says is written by `answer`. */
function turnsOf(
  questions: readonly string[],
  answer: (index: number) => string = (index) => `Answer ${index}.`,
): Message[] {
  return questions.flatMap((question, index) =>
    index === 0 ? [user(question)] : [model(answer(index)), user(question)],
  )
}
const growing = (about: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => (index === 0 ? long(about) : `${about}, question ${index}`))

/** An answer and the history with it: each call is the beginning of the next one. */
const conversation = (about: string, count: number, system: (index: number) => string): Step[] =>
  Array.from({ length: count }, (_, index) => ({
    messages: [{ role: 'system', content: system(index) }, ...turnsOf(growing(about, index + 1))],
    fate: { ...OK, words: `Answer${index + 1}.` },
  }))

const clockTime = (index: number): string => `10:${String(10 + index)}:0${index % 10}`
const stable = (): string => long('You help')

/** Leaves out the oldest turns until the conversation fits. */
const dropsOldest = habit(({ luck, question }) => {
  const questions = growing(question, 5)
  const refusals = luck.whole(1, 3)
  return [
    { messages: turnsOf(questions.slice(0, 4)) },
    ...Array.from({ length: refusals }, (_, index) => ({
      messages: turnsOf(questions).slice(2 * index),
      fate: TOO_LONG,
    })),
    { messages: [user(`${question}, question 4`)] },
  ]
})

/** Keeps the first turn, and puts a summary in the place of those that follow. */
const summarizes = habit(({ question }) => {
  const questions = growing(question, 6)
  return [
    { messages: turnsOf(questions.slice(0, 5)) },
    { messages: turnsOf(questions), fate: TOO_LONG },
    { messages: [user(question), model('A summary.'), user(`${question}, question 5`)] },
    {
      messages: [user(question), model('A summary.'), user(`${question}, question 5`), model('Yes.'), user('And now?')],
    },
  ]
})

/** Users with the same script, each of whom is told once that the conversation is too long. */
const usersGiveUp = habit(({ luck, question }) => {
  const users = luck.whole(1, 3)
  return Array.from({ length: users }, () => [
    { messages: turnsOf(growing(question, 2)) },
    { messages: turnsOf(growing(question, 3)), fate: TOO_LONG },
  ]).flat()
})

/** Tests that each have the same conversation in store, which is too long, beside a call that is like its beginning. */
const testsTooLong = habit(({ question }) => [
  { messages: [user(question)], fate: { ...OK, words: 'Whatisit?' } },
  ...Array.from({ length: 3 }, () => ({
    messages: [user(question), model('Hello.'), user(long(question))],
    fate: TOO_LONG,
  })),
])

/** Documents that are each too long, about one conversation or about none. */
const longDocuments = habit(({ luck, question }) => {
  const begun = luck.chance(0.5) ? [user(question), model('Which document?')] : []
  const documents = Array.from({ length: luck.whole(3, 6) }, (_, index) => ({
    messages: [...begun, user(long(`Document ${String.fromCharCode(97 + index)}`).padEnd(7000 + 100 * index, 'more'))],
    fate: TOO_LONG,
  }))
  return [...(begun.length > 0 ? [{ messages: [user(question)] }] : []), ...documents]
})

/** Has no result for a call that was cut off, or one that says so. */
const noticesCutCalls = habit(({ luck, question }) => {
  const asked = [user(question)]
  const cut = { messages: asked, fate: { ...OK, cutCalls: [`cut of ${question}`] } }
  const history = [...asked, calling(`call_cut of ${question}`, '{"path":"/et')]
  const failures = [
    'Error: the arguments are not valid JSON.',
    'The arguments were truncated, please call the tool again.',
    '{"error":"incomplete arguments"}',
    'Die Argumente sind unvollständig.',
    '参数无效',
    '{"ok":false}',
    '{"status":400}',
    'Please send the whole arguments.',
    'null',
    '{}',
    '',
  ] as const
  const others: Message[][] = [
    [...history, result(`call_cut of ${question}`, luck.one(...failures))],
    [...asked, model('The call was cut off.'), user('Use shorter arguments.')],
    asked,
  ]
  return [cut, { messages: luck.one(...(others as [Message[], ...Message[][]])) }]
})

/** Runs tools with whole arguments, some of which say that something went wrong. */
const runsTools = habit(({ luck, question }) => {
  const id = `call_whole of ${question}`
  const json = '{"path":"/etc/hosts"}'
  const text = luck.one('{"lines":3}', '127.0.0.1 localhost', 'Error: no such file')
  return [
    { messages: [user(question)] },
    { messages: [user(question), calling(id, json), result(id, text)] },
    { messages: [user(question), calling(id, json), result(id, text), model('Done.'), user('Thanks.')] },
  ]
})

/** Prompts that begin alike, or change in ways that cost no cache: once, at the end, or to become shorter. */
const keepsPrefix = habit(({ luck, question }) => {
  const count = luck.whole(3, 6)
  const questions = growing(question, count)
  const all = Array.from({ length: count }, (_, index) => turnsOf(questions.slice(0, index + 1)))
  const system = { role: 'system', content: stable() }
  return luck.one<() => Step[]>(
    () => conversation(question, count, stable),
    // Its date changes once, at midnight.
    () => conversation(question, count, (index) => `Today is 2026-11-${index < 2 ? 26 : 27}. ${stable()}`),
    // A reminder goes with the last message alone.
    () =>
      all.map((messages, index) => ({
        messages: [system, ...messages.slice(0, -1), user(`${messages.at(-1)?.content} Now: ${clockTime(index)}`)],
      })),
    // A window of the last turns.
    () => all.map((messages) => ({ messages: [system, ...messages.slice(-3)] })),
    // What a tool gave is taken out again when it is old.
    () =>
      all.map((messages, index) => ({
        messages: [system, ...(index > 1 ? [user(`${question}, cleared`), ...messages.slice(1)] : messages)],
      })),
    // A conversation for each user, with the time at which it began.
    () =>
      [0, 1, 2].flatMap((number) =>
        conversation(question, luck.whole(2, 3), () => `Now: ${clockTime(number)}. ${stable()}`),
      ),
    // Single questions, each with the time.
    () => all.map((_, index) => ({ messages: [user(`Now: ${clockTime(index)}. ${long(question)}`)] })),
  )()
})

const HABITS = {
  dropsOldest,
  summarizes,
  usersGiveUp,
  testsTooLong,
  longDocuments,
  noticesCutCalls,
  runsTools,
  keepsPrefix,
}

/** A day of well-behaved agents, which may have the same conversation, beside clients of another kind. */
export function compliantAgents(seed: number): Day & { habits: string[] } {
  const luck = luckOf(seed)
  const world = createWorld(luck)
  const shared = luck.chance(0.3)
  const habits = Array.from({ length: luck.whole(1, 4) }, (_, index) => {
    const [name, habit] = luck.one(...(Object.entries(HABITS) as [[string, Habit], ...[string, Habit][]]))
    const manner = mannerOf(luck)
    const client = createClient(world, manner, luck)
    const question = shared ? 'the same' : `agent ${index}`
    world.after(luck.between(0, 5000), () => habit({ world, luck, client, manner, question }))
    return name
  })
  for (let number = luck.whole(0, 2); number > 0; number--) addBystander(world, luck, number)
  return { habits, calls: world.run(), accept: [], end: luck.one('well', 'unknown', undefined) }
}

const plant =
  (steps: (luck: Luck) => readonly Step[]) =>
  (world: World, luck: Luck): Partial<Day> => {
    const client = createClient(world, mannerOf(luck), luck)
    world.after(luck.between(0, 3000), () => makeCalls(client, { world, luck }, steps(luck)))
    return {}
  }

/** The same with what each does wrong. */
export const CONVERSATION_PLANTS = {
  'compaction-loop': plant((luck) => {
    const count = luck.whole(2, 5)
    const questions = growing('compaction', count)
    const growth = luck.whole(0, 1)
    return [
      { messages: turnsOf(questions.slice(0, -1)), fate: { ...OK, words: `Answer${count - 1}.` } },
      ...Array.from({ length: luck.whole(3, 5) }, (_, index) => ({
        messages: turnsOf(growing('compaction', count + growth * index)),
        fate: TOO_LONG,
      })),
    ]
  }),
  'executed-truncated': plant((luck) => {
    const asked = [user('Which hosts are there?')]
    const json = luck.one('{"path":"/et', '{}', '{"path":"/et"}')
    return [
      { messages: asked, fate: { ...OK, cutCalls: ['guilty'] } },
      {
        messages: [
          ...asked,
          calling(luck.one('call_guilty', 'toolu_guilty'), json),
          result(luck.one('call_guilty'), luck.one('{"lines":3}', '["a","b"]', '127.0.0.1 localhost')),
        ],
      },
    ].map((step) =>
      // The id in the result is that of the call.
      JSON.stringify(step.messages).includes('toolu_guilty')
        ? {
            ...step,
            messages: JSON.parse(JSON.stringify(step.messages).replaceAll('call_guilty', 'toolu_guilty')) as Message[],
          }
        : step,
    )
  }),
  'cache-prefix-broken': plant((luck) => {
    const count = luck.whole(4, 7)
    if (luck.chance(0.5)) return conversation('caching', count, (index) => `Now: ${clockTime(index)}. ${stable()}`)
    // What is known of the user is in the first message, and changes with every call.
    return Array.from({ length: count }, (_, index) => {
      const answer = (turn: number) => `${turn}: ${'a long answer of its own '.repeat(3)}`
      const [, ...later] = turnsOf(growing('caching', index + 1), answer)
      const [first = '', second = long('more')] = [long('Files: a, b'), long(`Notes ${'abcdefgh'[index]}`)]
      return {
        messages: [
          user(`${second} ${first}`),
          ...later.map((one) => ({ ...one, content: String(one.content).padEnd(3000, '.') })),
        ],
        fate: {
          ...OK,
          words: answer(index + 1)
            .padEnd(3000, '.')
            .replaceAll(' ', ''),
        },
      }
    })
  }),
}
