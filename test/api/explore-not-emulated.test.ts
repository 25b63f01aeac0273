// APIs that are not emulated, under explore: their calls are refused by name, and an exploration with one is no pass.
import { expect, test } from 'bun:test'
import { exploreLines } from '../../src/cli/print/explore-matrix.ts'
import { repeater } from '../../src/cli/print/explore-repeat.ts'
import type { NotEmulatedByPath } from '../../src/cli/run/not-emulated.ts'
import { plainLines } from '../support/cli.ts'
import { calling, exploreProgram, jsonOf, reportOf, user } from '../support/explore.ts'
import type { Surroundings } from '../support/programs/surroundings.ts'

const HI = { messages: [user('Hi')] }
/** Handles a failing call, and calls Ollama `times` times. */
const program = (times: number, seen: (env: Surroundings['env']) => void = () => {}) =>
  calling(async ({ ask, fetch, env }) => {
    seen(env)
    for (let time = 0; time < times; time++)
      await fetch(`${env.OLLAMA_HOST}/api/chat?key=sk-12345678`, { method: 'POST' })
    await ask(HI).catch(() => ask(HI))
  })

test('explore and APIs that are not emulated: is inconclusive and names the calls', async () => {
  const notEmulated: NotEmulatedByPath = new Map()
  const found = await exploreProgram(program(2), { classes: ['server-error-once'], notEmulated })
  const refused = [...notEmulated.values()]
  expect(jsonOf(found, refused)).toMatchObject({
    verdict: 'inconclusive',
    inconclusive: ['2 calls to the Ollama API were not tested, because it is not emulated'],
    not_emulated: [{ api: 'the Ollama API', variable: 'OLLAMA_HOST', method: 'POST', path: '/api/chat', count: 2 }],
  })
  const lines = plainLines(exploreLines({ ...reportOf(found, refused), width: 100 })).join('\n')
  expect(lines).toContain(
    'Understudy: explore: INCONCLUSIVE: 2 calls to the Ollama API were not tested, because it is not emulated',
  )
  expect(lines).toContain('  not emulated the Ollama API (OLLAMA_HOST): 2 calls, POST /api/chat')
})

test('explore and APIs that are not emulated: a problem is still a failure', async () => {
  const notEmulated: NotEmulatedByPath = new Map()
  const found = await exploreProgram(
    calling(async ({ ask, fetch, env }) => {
      await fetch(`${env.OLLAMA_HOST}/api/chat`, { method: 'POST' })
      await ask(HI).catch(() => {})
    }),
    { classes: ['server-error-once'], notEmulated },
  )
  expect(jsonOf(found, [...notEmulated.values()])).toMatchObject({
    verdict: 'fail',
    not_emulated: [{ variable: 'OLLAMA_HOST' }],
  })
})

test('explore --leave-env: leaves the variable as it is, in the commands that it prints, too', async () => {
  const left = new Set<string | undefined>()
  await exploreProgram(
    program(0, ({ OLLAMA_HOST, GOOGLE_GEMINI_BASE_URL }) => left.add(OLLAMA_HOST).add(typeof GOOGLE_GEMINI_BASE_URL)),
    { classes: ['server-error-once'], leaveEnv: ['OLLAMA_HOST'] },
  )
  expect([...left]).toEqual([undefined, 'string'])
  expect(repeater(['npm', 'test'], { leaveEnv: ['OLLAMA_HOST'] })('p.1-auth')).toBe(
    'understudy explore --case p.1-auth --leave-env OLLAMA_HOST -- npm test',
  )
})
