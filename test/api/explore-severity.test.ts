// What a good program makes of each nature of failure: a correct twin has no problem, a careless one has the right one.
import { expect, test } from 'bun:test'
import { constants } from 'node:os'
import type { FailureModeName, ProblemKind } from '../../src/contract/core/exploration.ts'
import { isError, problemKindOf } from '../../src/exploration/problems.ts'
import { CallFailure, calling, exploreProgram, type Model, user } from '../support/explore.ts'
import type { Program } from '../support/programs/surroundings.ts'

const HI = { messages: [user('Hi')] }
const RECOVERABLE: FailureModeName[] = ['server-error-once', 'rate-limit-once', 'reset']
const TERMINAL: FailureModeName[] = ['auth', 'context-length', 'server-error-forever', 'rate-limit-forever']
const CONTENT: FailureModeName[] = ['cut-stream', 'in-band-error', 'malformed-chunk', 'empty-response']

/** Reads a stream to its end; throws if it is incomplete. */
async function readWhole({ post }: Model): Promise<void> {
  const response = await post({ stream: true, ...HI })
  if (!response.ok) throw new CallFailure(response)
  const text = await response.text()
  const events = text.split('\n').filter((line) => line.startsWith('data: {'))
  if (events.some((line) => 'error' in JSON.parse(line.slice(6)))) throw new Error('the stream reports an error')
  if (!text.includes('data: [DONE]')) throw new Error('the stream is incomplete')
}
/** Tries again, after the pause that was asked for, unless another try is in vain. */
async function retried({ wait }: Model, act: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      await act()
      return
    } catch (error) {
      const { status, after } = error instanceof CallFailure ? error : { status: 0, after: 0 }
      if (tries === 3 || [400, 401].includes(status)) throw error
      await wait(after || 1_000 * 2 ** tries)
    }
}

interface Row {
  name: string
  program: Program
  classes: FailureModeName[]
  results: string[]
  problems: ProblemKind[]
  fails: boolean
}
const row = (name: string, program: Program, more: Omit<Row, 'name' | 'program'>): [string, Row] => [
  name,
  { name, program, ...more },
]
const ROWS = [
  row(
    'retries recoverable failures',
    calling((model) => retried(model, () => model.ask(HI))),
    { classes: RECOVERABLE, results: ['tolerated'], problems: [], fails: false },
  ),
  row(
    'never retries',
    calling(({ ask }) => ask(HI)),
    { classes: RECOVERABLE, results: ['failed'], problems: ['failed'], fails: true },
  ),
  row(
    'loses an item after a recoverable failure',
    calling(({ ask }) => ask(HI).catch(() => {})),
    { classes: RECOVERABLE, results: ['swallowed'], problems: ['lost-work'], fails: true },
  ),
  row(
    'fails with the error when nothing can be done',
    calling((model) => retried(model, () => model.ask(HI))),
    { classes: TERMINAL, results: ['failed-cleanly'], problems: [], fails: false },
  ),
  row(
    'reports the error and ends well when nothing can be done',
    (about) => calling(({ ask }) => ask(HI).catch((error) => about.say(`no answer: ${error}`)))(about),
    { classes: TERMINAL, results: ['failed-cleanly'], problems: [], fails: false },
  ),
  row(
    'prints that one of them has no answer and ends well',
    (about) => calling(({ ask }) => ask(HI).catch(() => about.say('no answer for one of them')))(about),
    { classes: TERMINAL, results: ['failed-cleanly'], problems: [], fails: false },
  ),
  row(
    'loses an item and prints that nothing failed',
    (about) =>
      calling(({ ask }) =>
        ask(HI).then(
          () => about.say('1 done, 0 failed'),
          () => about.say('0 done, 0 failed'),
        ),
      )(about),
    { classes: ['server-error-forever'], results: ['swallowed'], problems: ['swallowed'], fails: true },
  ),
  ...['Gave up', 'Giving up: no more attempts', 'All attempts exhausted', 'The model is unreachable'].map((words) =>
    row(
      `fails with the words ${words}`,
      (about) =>
        calling(({ ask }) =>
          ask(HI).then(
            () => 0,
            () => {
              about.say(words)
              return 1
            },
          ),
        )(about),
      { classes: ['server-error-forever'], results: ['failed-cleanly'], problems: [], fails: false },
    ),
  ),
  row(
    // As Perl and PHP end after an error.
    'fails with the error and exit code 255',
    (about) =>
      calling(({ ask }) =>
        ask(HI).catch((error) => {
          about.say(`no answer: ${error}`)
          return 255
        }),
      )(about),
    { classes: TERMINAL, results: ['failed-cleanly'], problems: [], fails: false },
  ),
  row(
    'is ended by a signal',
    calling(({ ask }) => ask(HI).catch(() => 128 + constants.signals.SIGSEGV)),
    { classes: TERMINAL, results: ['crashed'], problems: ['crashed'], fails: true },
  ),
  row(
    'falls back to another model when nothing else helps',
    calling(({ ask }) => ask(HI).catch(() => ask({ ...HI, model: 'openai/gpt-4o-mini' }))),
    { classes: TERMINAL, results: ['tolerated'], problems: [], fails: false },
  ),
  row(
    'hides a terminal failure',
    calling(({ ask }) => ask(HI).catch(() => {})),
    { classes: TERMINAL, results: ['swallowed'], problems: ['swallowed'], fails: true },
  ),
  row(
    'fails without a word',
    calling(({ ask }) =>
      ask(HI).then(
        () => 0,
        () => 1,
      ),
    ),
    { classes: TERMINAL, results: ['failed'], problems: ['silent-failure'], fails: false },
  ),
  row(
    'fails after it has repeated what cannot succeed',
    calling(({ ask }) => ask(HI).catch(() => ask(HI))),
    { classes: ['auth', 'context-length'], results: ['failed'], problems: ['misbehaved'], fails: true },
  ),
  row(
    'repeats a failing call at once, again and again',
    calling(async ({ ask }) => {
      // Declared, since a busy machine makes pauses: of declared retries, eleven in a row are enough.
      const retry = (tries: number) => ask(HI, { headers: { 'x-stainless-retry-count': String(tries) } })
      for (let tries = 0; tries < 24; tries++)
        try {
          return await retry(tries)
        } catch {}
      return retry(24)
    }),
    { classes: ['server-error-forever'], results: ['failed'], problems: ['misbehaved'], fails: true },
  ),
  row(
    'waits for a silent response without a limit',
    calling(({ ask }) => ask(HI)),
    { classes: ['timeout'], results: ['hung'], problems: ['hung'], fails: true },
  ),
  row(
    'has a limit for silent responses, and tries again',
    calling((model) => {
      const request = { method: 'POST', body: JSON.stringify({ model: 'openai/gpt-4o', ...HI }) }
      const headers = { authorization: `Bearer ${model.env.OPENAI_API_KEY}`, 'content-type': 'application/json' }
      const hi = () =>
        model.fetch(`${model.env.OPENAI_BASE_URL}/chat/completions`, {
          ...{ ...request, headers, signal: AbortSignal.timeout(500) },
        })
      return retried(model, hi)
    }),
    { classes: ['timeout'], results: ['tolerated'], problems: [], fails: false },
  ),
  row(
    'reads a broken stream again',
    calling((model) => retried(model, () => readWhole(model))),
    { classes: CONTENT, results: ['tolerated'], problems: [], fails: false },
  ),
  row(
    'fails when a stream is broken',
    calling((model) => readWhole(model)),
    { classes: CONTENT, results: ['failed-cleanly'], problems: ['not-tolerated'], fails: false },
  ),
  row(
    'takes half a stream for a whole one',
    calling((model) => readWhole(model).catch(() => {})),
    { classes: CONTENT, results: ['swallowed'], problems: ['swallowed'], fails: true },
  ),
]

test.each(ROWS)(
  'explore severity: is right for a program that %s',
  async (_, { program, classes, results, problems, fails }) => {
    const { cases } = await exploreProgram(program, { classes, limitMs: 1_500 })
    expect(cases.map(({ class: name }) => name).toSorted()).toEqual(classes.toSorted())
    expect([...new Set(cases.map(({ verdict }) => String(verdict)))]).toEqual(results)
    expect([...new Set(cases.flatMap((cell) => problemKindOf(cell) ?? []))]).toEqual(problems)
    expect(cases.some(isError)).toBe(fails)
  },
)

test('explore severity: figures that differ in every run are no error message', async () => {
  let runs = 400
  const program: Program = (about) =>
    calling(async ({ ask }) => {
      await ask(HI).catch(() => {})
      about.say(`# duration_ms ${++runs}.25, 5 ${runs} items`)
      about.say(`12:13:${runs % 60}.${runs} ✔ reports errors (${runs}.5 ms)`)
    })(about)
  const { cases } = await exploreProgram(program, { classes: TERMINAL })
  expect(cases.map(({ verdict }) => verdict)).toEqual(TERMINAL.map(() => 'swallowed'))
})

test('explore severity: a tool that runs twice is severe under a terminal failure mode, too', async () => {
  const tools = [{ type: 'function', function: { name: 'charge', parameters: { type: 'object' } } }]
  const conversation = async ({ ask }: Model) => {
    const first = await ask({ messages: [user('Charge it.')], tools, tool_choice: 'required' })
    const results = (first.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'charged' }))
    await ask({ messages: [user('Charge it.'), first, ...results], tools, tool_choice: 'none' })
  }
  const { cases } = await exploreProgram(
    calling((model) => conversation(model).catch(() => conversation(model))),
    { classes: ['server-error-forever'] },
  )
  expect(cases.map(problemKindOf)).toContain('duplicate-side-effect')
})

test('explore severity: a swallowed error counts only when a second run confirms it', async () => {
  let broken = 0
  const program = calling(({ ask }) =>
    ask(HI).catch(async () => {
      if (broken++ > 0) await ask(HI)
    }),
  )
  const { cases, runs } = await exploreProgram(program, { classes: ['server-error-once'] })
  expect(cases.map(({ verdict, why }) => [verdict, why])).toEqual([
    ['tolerated', expect.stringContaining('results varied between runs: swallowed, tolerated, tolerated')],
  ])
  expect(runs).toBe(3)
})
