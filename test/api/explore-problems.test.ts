// The problems of explored programs: one for each cause, the worst first, with the call's name and the command that shows it.
import { expect, test } from 'bun:test'
import { exploreLines, problemLines } from '../../src/cli/print/explore-matrix.ts'
import { exploreJunit } from '../../src/cli/print/explore-outputs.ts'
import { repeater } from '../../src/cli/print/explore-repeat.ts'
import { caseName, type ExploreProblem, type FailureModeName } from '../../src/contract/core/exploration.ts'
import type { Exploration } from '../../src/exploration/explore.ts'
import { exploreProblems } from '../../src/exploration/problems.ts'
import type { RunRoute } from '../../src/exploration/routes.ts'
import { plainLines } from '../support/cli.ts'
import { calling, exploreProgram, type Model, reportOf, user } from '../support/explore.ts'

const SOME: FailureModeName[] = ['server-error-once', 'reset', 'auth', 'server-error-forever', 'empty-response']
const TOOLS = [{ type: 'function', function: { name: 'refund', parameters: { type: 'object' } } }]

async function refund({ ask }: Model): Promise<void> {
  const question = user('Refund order 17, please: it never came.')
  const first = await ask({ messages: [question], tools: TOOLS, tool_choice: 'required' })
  const results = (first.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'refunded' }))
  await ask({ messages: [question, first, ...results], tools: TOOLS, tool_choice: 'none' })
}

const problemsOf = ({ cases, points }: Exploration) => exploreProblems(cases, points)
const linesOf = (found: Exploration) =>
  plainLines(
    exploreLines({
      ...{ ...reportOf(found), width: 80 },
      repeat: repeater(['npm', 'test'], { seed: '5', timeout: '9s' }),
    }),
  )

test('explore problems: a misspelled fallback is one problem with all its cases', async () => {
  const body = { messages: [user('Hi')] }
  const found = await exploreProgram(
    calling(({ ask }) => ask(body).catch(() => ask({ ...body, model: 'openai/gpt-4o-minii' }))),
    { classes: SOME },
  )
  expect(problemsOf(found)).toEqual([
    {
      kind: 'misbehaved',
      severity: 'error',
      why: expect.stringContaining("did you mean 'openai/gpt-4o-mini'"),
      calls: ['chat.completions, call 1: "Hi"'],
      classes: ['server-error-once', 'empty-response', 'server-error-forever', 'reset', 'auth'],
      cases: expect.any(Array),
    },
  ])
})

test('explore problems: a refund that happens twice comes before everything else', async () => {
  const found = await exploreProgram(
    calling(async (model) => {
      await model.ask({ messages: [{ role: 'system', content: 'Sort.' }, user('Which order is it?')] }).catch(() => {})
      await refund(model).catch(() => refund(model))
    }),
    { classes: SOME },
  )
  const [first, ...others] = problemsOf(found)
  expect(first).toMatchObject({
    kind: 'duplicate-side-effect',
    severity: 'error',
    why: expect.stringMatching(
      /^tool-repeated: refund \{.*\} was executed 2 times under the fault, once in the baseline/,
    ),
  })
  expect(first?.calls).toEqual(['chat.completions, call 3: "Refund order 17, please: it never came."'])
  expect(others.map(({ kind }) => kind)).toEqual(['lost-work', 'misbehaved'])
})

test('explore problems: calls with the same failures are one problem', async () => {
  const found = await exploreProgram(
    calling(async ({ ask }) => {
      for (const system of ['Be brief.', 'Be kind.', 'Be quick.'])
        await ask({ messages: [{ role: 'system', content: system }, user(`Hi: ${system}`)] })
    }),
    { classes: SOME },
  )
  expect(problemsOf(found).map(({ kind, calls }) => [kind, calls.length])).toEqual([
    ['failed', 3],
    ['not-tolerated', 3],
  ])
})

test('explore problems: names three calls, one in each line, and counts the others', () => {
  const calls = ['one', 'two', 'three', 'four', 'five'].map((name) => `chat.completions, call: "${name}"`)
  const problem: ExploreProblem = {
    ...{ kind: 'failed', severity: 'error', why: 'it failed' },
    ...{ calls, classes: ['auth'], cases: [] },
  }
  expect(plainLines(problemLines([problem], String)).slice(1, 6)).toEqual([
    ...calls.slice(0, 3).map((call) => `   ${call}`),
    '   and 2 others',
    '   under auth',
  ])
})

test('explore problems: the report begins with the list, in 80 columns, and names no secret', async () => {
  const key = 'sk-proj-4bK9s2LmQ8xW3vT7'
  const prompt = `Use ${key} to look up what became of the parcel with a very long story`
  const found = await exploreProgram(
    calling(({ ask }) => ask({ messages: [user(prompt)] }).catch(() => {})),
    { classes: SOME },
  )
  const lines = linesOf(found)
  const point = found.points[0]?.id
  expect(lines.slice(0, 9)).toEqual([
    'Understudy: explore: FAIL: 1 problem in 5 cases at 1 injection point',
    '',
    '1. Lost work',
    '   chat.completions, call 1: "Use (masked) to look up what became of…"',
    '   under server-error-once, reset, empty-response, server-error-forever, auth',
    '   the client received the fault and did not retry, and the command passed',
    `      understudy explore --case ${point}-server-error-once --timeout 9s --seed 5 \\`,
    '        -- npm test',
    '',
  ])
  expect(lines.join('\n')).not.toContain(key)
})

test("explore problems: name messages of Anthropic's API as that API does", async () => {
  const options = (path: string) => (path.startsWith('/messages') ? { system: 'Be brief.', retry: { count: 1 } } : {})
  const routes = new Set<unknown>()
  const runRoute: RunRoute = async ({ path, request }) => {
    routes.add([path, (request as { system?: unknown }).system].join())
    return { calls: [], recoveryPaths: {} }
  }
  const found = await exploreProgram(
    async ({ env, fetch }) => {
      for (const path of ['/v1/messages?beta=true', '/s/own/v1/messages', '/messages', '/v1/messages/count_tokens']) {
        const response = await fetch(`${env.ANTHROPIC_BASE_URL}${path}`, {
          method: 'POST',
          headers: { 'x-api-key': env.ANTHROPIC_API_KEY ?? '', 'anthropic-version': '2023-06-01' },
          body: JSON.stringify({ model: 'claude-sonnet-4', max_tokens: 9, messages: [user('Hi')], ...options(path) }),
        })
        if (!response.ok) throw new Error(await response.text())
      }
    },
    { classes: ['auth'], runRoute },
  )
  expect(found.points.map(({ label }) => label).toSorted()).toEqual([
    'messages, call 1: "Hi"',
    'messages, call 2: "Hi"',
    'messages, call 4, session own: "Hi"',
    'messages.count_tokens, call 3: "Hi"',
  ])
  expect(found.points.map(({ operation }) => operation)).toContain('chat.completions')
  const named = (name: string) => expect.stringMatching(new RegExp(`^${name}-[0-9a-f]{8}\\.`))
  expect(found.points.map(({ id }) => id).toSorted()).toEqual([
    ...['messages', 'messages', 'messages'].map(named),
    named('messages.count_tokens'),
  ])
  const target = 'anthropic/claude-sonnet-4'
  expect(Object.keys(found.recoveryPaths)).toEqual([`messages ${target}: recovery`, `messages ${target}: retry`])
  expect(found.routes.map(({ route }) => route)).toEqual([`messages: ${target}, retry 1 on 429`])
  expect([...routes]).toEqual(['/messages,Be brief.'])
})

test('explore problems: a correct program has none, and its report says so', async () => {
  const found = await exploreProgram(
    calling(async ({ ask, wait }) => {
      for (let tries = 1; ; tries++)
        try {
          return await ask({ messages: [user('Hi')] })
        } catch (error) {
          if (tries === 3 || String(error).includes('401')) throw error
          await wait(1_000 * 2 ** tries)
        }
    }),
    { classes: SOME },
  )
  expect(problemsOf(found)).toEqual([])
  expect(linesOf(found)[0]).toBe('Understudy: explore: PASS: no problem in 5 cases at 1 injection point')
})

test('explore output: keeps the last 16 kB in whole lines, without secrets', async () => {
  const found = await exploreProgram(
    (about) => {
      for (let line = 0; line < 2_000; line++) about.say(`line ${line}: nothing special`)
      about.say('api_key=abcd1234efgh code: ECONNRESET total_tokens: 12')
      return calling(({ ask }) => ask({ messages: [user('Hi')] }).catch(() => {}))(about)
    },
    { classes: ['server-error-once'] },
  )
  for (const output of [found.baselineRun?.output ?? '', found.cases[0]?.output ?? '']) {
    expect(Buffer.byteLength(output)).toBeWithin(15_000, 16_010)
    expect(output).toMatch(/^…\nline \d+: nothing special\n/)
    expect(output).toEndWith('api_key=(masked) code: ECONNRESET total_tokens: 12\n')
  }
})

test('explore --case: runs only that case, and finds the same', async () => {
  const program = calling(async (model) => {
    await model.ask({ messages: [user('Hi')] })
    await refund(model).catch(() => refund(model))
  })
  const whole = await exploreProgram(program, { classes: SOME })
  expect(whole.cases.length).toBeGreaterThan(10)
  // Every case of one point, and one of every point: the others are found by the same two names.
  const [first] = whole.points
  for (const cell of whole.cases.filter(({ point, class: name }) => point === first?.id || name === 'reset')) {
    const one = await exploreProgram(program, { only: caseName(cell) })
    expect(one.cases.map(({ point, class: name, verdict, mistake }) => ({ point, name, verdict, mistake }))).toEqual([
      { point: cell.point, name: cell.class, verdict: cell.verdict, mistake: cell.mistake },
    ])
    expect([one.skipped, one.saved]).toEqual([[], 0])
    const number = whole.points.findIndex(({ id }) => id === cell.point) + 1
    expect(linesOf(one).join('\n')).toMatch(new RegExp(`in 1 case at 1 injection point\\n[^]*\\n +p${number} *\\n`))
  }
})

test('explore --case: runs a pair after its first case', async () => {
  const program = calling(({ ask }) => {
    const hi = () => ask({ messages: [user('Hi')] })
    return hi().catch(hi)
  })
  const whole = await exploreProgram(program, { classes: ['server-error-once'], depth: 2 })
  const pair = whole.cases.find(({ class: name }) => name.includes('+'))
  if (!pair) throw new Error('there is no pair')
  const one = await exploreProgram(program, { only: caseName(pair) })
  expect(one.cases.map((cell) => [caseName(cell), cell.verdict])).toEqual([[caseName(pair), pair.verdict]])
  expect((await exploreProgram(program, { only: 'nothing.1-auth' })).cases).toEqual([])
})

test('explore JUnit: has the same names when calls run in parallel and in random order', async () => {
  const system = (content: string) => ({ role: 'system', content })
  const namesOf = async (seed: number) => {
    let random = seed
    const next = () => (random = (random * 16_807) % 2_147_483_647) / 2_147_483_647
    const found = await exploreProgram(
      calling(async ({ ask }) => {
        const texts = Array.from({ length: 3 }, (_, index) => `Parcel ${seed} ${index}`)
        const bodies = texts.flatMap((text) => [
          { messages: [system('Be brief.'), user(text)] },
          { messages: [system('Be kind.'), user(text)], response_format: { type: 'json_object' } },
        ])
        const shuffled = bodies.map((body) => ({ body, at: next() })).toSorted((one, other) => one.at - other.at)
        await Promise.all(shuffled.map(({ body }) => ask(body)))
      }),
      { classes: ['server-error-once'], jobs: 2 },
    )
    const names = [...exploreJunit(found.cases).matchAll(/<testcase classname="([^"]+)" name="([^"]+)"/g)]
    return names.map(([, suite, name]) => `${suite} ${name}`).toSorted()
  }
  const names = await namesOf(3)
  expect(names.length).toBe(6)
  expect(await namesOf(4)).toEqual(names)
})

test('explore JUnit: names no figure that changes from run to run, and only problems fail', async () => {
  let runs = 0
  const found = await exploreProgram(
    calling(({ ask }) => ask({ messages: [user(`Run ${++runs}`)] })),
    { classes: SOME },
  )
  const names = [...exploreJunit(found.cases).matchAll(/<testcase classname="([^"]+)" name="([^"]+)"/g)]
  expect(names.map(([, , name]) => name).toSorted()).toEqual(SOME.toSorted())
  expect(new Set(names.map(([, suite]) => suite))).toEqual(new Set([found.points[0]?.id]))
  expect(exploreJunit(found.cases)).toContain('tests="5" failures="2"')
})
