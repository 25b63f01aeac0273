// A short run of the fuzzer from one seed, in this process; `npm run fuzz` does the same with a server, for minutes.
import { expect, test } from 'bun:test'
import { once } from '../../src/lib/once.ts'
import { type Find, hunt } from '../fuzz/hunt.ts'
import { newForwardingProgram, newProgram, type replay } from '../fuzz/program.ts'
import { makeForwardedRequest } from '../fuzz/provider.ts'
import { chanceOf } from '../fuzz/random.ts'
import { makeRequest, POLITE_SESSION } from '../fuzz/requests.ts'
import { shrink } from '../fuzz/shrink.ts'

const SEED = 1
const REQUESTS = 150
const FORWARDED = 60

/** What the program describes, which is the same for each. */
const surfaceOfProgram = once(async () => {
  const { app, surface } = await newProgram()
  const described = await surface()
  await app.close()
  return described
})

test('fuzz: gets responses in the envelope and no internal error for hostile requests', async () => {
  const { app, to, reported } = await newProgram()
  const finds: Find[] = []
  // Which statuses the document knows is the longer run's to say.
  const found = (find: Find) => find.wrong.startsWith('the document') || finds.push(find)
  const counts = await hunt({
    seed: SEED,
    requests: REQUESTS,
    workers: 1,
    surface: await surfaceOfProgram(),
    to,
    found,
  })
  expect(finds.map(({ wrong, requests }) => [wrong, requests.at(-1)])).toEqual([])
  expect(reported).toEqual([])
  expect(counts.sent).toBe(REQUESTS)
  // Requests that all are refused at the door would find nothing.
  expect(counts.statuses['2xx'] ?? 0).toBeGreaterThan(REQUESTS / 10)
  expect((await app.fetch('/_understudy/snapshot')).status).toBe(200)
  app.close()
}, 120_000)

test('fuzz: gets no internal error for hostile provider responses', async () => {
  const { app, to, reported } = await newForwardingProgram()
  const finds: Find[] = []
  const found = (find: Find) => finds.push(find)
  const settings = {
    seed: SEED,
    requests: FORWARDED,
    workers: 1,
    surface: await surfaceOfProgram(),
    make: makeForwardedRequest,
  }
  const counts = await hunt({ ...settings, to, found })
  expect(finds.map(({ wrong, requests }) => [wrong, requests.at(-1)])).toEqual([])
  expect(reported).toEqual([])
  expect(counts.sent).toBe(FORWARDED)
  await app.close()
}, 120_000)

test('fuzz: makes the same requests with the same seed', async () => {
  const source = { ...(await surfaceOfProgram()), known: [{ name: 'one', of: '/v2/tools' }], session: 'a' }
  const requests = (seed: number) => {
    const chance = chanceOf(seed)
    return Array.from({ length: 50 }, () => makeRequest({ ...source, chance }))
  }
  expect(requests(SEED)).toEqual(requests(SEED))
  expect(requests(SEED)).not.toEqual(requests(SEED + 1))
})

test('fuzz: leaves the session of the well-behaved client alone when a response names it', async () => {
  const paths: string[] = []
  const to = {
    target: async ({ url, method }: Request) => {
      paths.push(`${method} ${url}`)
      return Response.json({ data: [{ name: POLITE_SESSION }, { name: 'one' }] })
    },
    base: 'http://localhost',
    late: () => new Promise(() => {}),
  }
  await hunt({ seed: SEED, requests: REQUESTS, workers: 1, surface: await surfaceOfProgram(), to, found() {} })
  expect(paths.some((path) => path.includes('/sessions/one'))).toBe(true)
  expect(paths.filter((path) => path.includes(`/sessions/${POLITE_SESSION}`))).toEqual([])
})

test('fuzz: minimizes a failure', async () => {
  const path = '/v2/contacts'
  const headers = { authorization: 'Bearer fuzz', 'content-type': 'application/json', 'x-other': 'y' }
  const body = { json: { external_id: 'a', display_name: 'half \ud800', metadata: { a: [1, 2, 3] }, tags: ['x'] } }
  const play = async (requests: Parameters<typeof replay>[0]) => {
    const last = requests.at(-1)?.body
    return last && 'json' in last && JSON.stringify(last.json).includes('ud800') ? 'half a character' : undefined
  }
  const smallest = await shrink(
    [
      { method: 'GET', path, headers },
      { method: 'POST', path, headers, body },
    ],
    'half a character',
    play,
  )
  expect(smallest).toEqual([
    { method: 'POST', path, headers: { authorization: 'Bearer fuzz' }, body: { json: { display_name: '\ud800' } } },
  ])
})
