// The scenarios of past incidents: each names its sources, says what is observed and what is assumed, and reaches a direct call.
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'

const folder = join(import.meta.dir, '..', '..', 'scenarios', 'incidents')
const names = readdirSync(folder).map((file) => file.replace(/\.yaml$/, ''))
const textOf = (name: string) => readFileSync(join(folder, `${name}.yaml`), 'utf8')

describe('incident', () => {
  test.each(names)('%s: names a source, and what is observed and assumed', (name) => {
    const comment = textOf(name).split('\nname:')[0] ?? ''
    expect(comment).toMatch(/^# [A-Z]/)
    for (const key of ['Rehearses', 'Source', 'Observed', 'Assumed']) expect(comment).toContain(`\n# ${key}: `)
    expect(comment).toMatch(/https:\/\//)
    expect(textOf(name)).toContain(`\nname: ${name}\n`)
  })

  test('there are 8 to 12, and docs/incidents.md lists them with their sources', () => {
    expect(names.length).toBeGreaterThanOrEqual(8)
    expect(names.length).toBeLessThanOrEqual(12)
    const page = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'incidents.md'), 'utf8')
    const rows = [...page.matchAll(/^\| (`.*`) \|.*$/gm)]
    const listed = rows.flatMap(([, cell = '']) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, name]) => name))
    expect(listed.sort()).toEqual([...names].sort())
    for (const [row] of rows) {
      for (const [, url = ''] of row.matchAll(/\]\((https:[^)]+)\)/g))
        expect(names.some((name) => textOf(name).includes(url))).toBe(true)
    }
  })
})

const chat = { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Hi' }] } }
const messages = { path: '/v1/messages', body: { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] } }
const image = { path: '/v1/images/generations', body: { prompt: 'a cat' } }

/** The call that meets each incident, the status at its start, and those after moving the clock. */
const MEETINGS: [
  name: string,
  call: typeof chat | typeof image,
  model: string,
  statuses: [advance: string, number][],
][] = [
  [
    'openai-2023-11-08',
    chat,
    'gpt-4o',
    [
      ['0s', 502],
      ['79m', 429],
      ['40m', 200],
    ],
  ],
  [
    'openai-2024-12-04',
    chat,
    'gpt-4o',
    [
      ['0s', 530],
      ['5m', 200],
      ['15m', 200],
      ['2h', 200],
    ],
  ],
  [
    'openai-2024-12-11',
    chat,
    'gpt-4o',
    [
      ['0s', 503],
      ['139m', 503],
      ['130m', 200],
    ],
  ],
  [
    'google-2025-06-12',
    chat,
    'google/gemini-2.5-flash',
    [
      ['0s', 503],
      ['3h', 200],
    ],
  ],
  [
    'aws-2025-10-20',
    chat,
    'aws/anthropic.claude-sonnet-4-20250514-v1:0',
    [
      ['0s', 500],
      ['15h', 200],
    ],
  ],
  [
    'anthropic-2026-04-28',
    messages,
    'claude-sonnet-4',
    [
      ['0s', 401],
      ['78m', 200],
    ],
  ],
  [
    'typical-openai',
    chat,
    'gpt-4o',
    [
      ['0s', 503],
      ['77m', 200],
    ],
  ],
  [
    'typical-anthropic',
    messages,
    'claude-sonnet-4',
    [
      ['0s', 529],
      ['55m', 200],
    ],
  ],
  [
    'long-incident',
    messages,
    'claude-sonnet-4',
    [
      ['0s', 529],
      ['321m', 200],
    ],
  ],
]
/** Incidents in which a call fails by chance: the call, and the statuses that ten of them have. */
const CHANCES: [name: string, call: typeof chat | typeof image, model: string, advance: string, failed: number][] = [
  ['openai-2024-08-16', chat, 'gpt-4o', '0s', 500],
  ['openai-2024-12-26', image, 'dall-e-3', '0s', 500],
  ['openai-2025-06-10', chat, 'gpt-4o', '150m', 503],
]

test('incidents: every one is met below', () => {
  expect([...MEETINGS, ...CHANCES].map(([name]) => name).sort()).toEqual([...names].sort())
})

/** A session under an incident, with latency skipped. */
async function under(name: string) {
  const { post: send } = createTestApp()
  const post = (path: string, body: object) => send(path, body, { 'anthropic-version': '2023-06-01' })
  await post('/_understudy/sessions', { name: 'one', scenario: name, latency: 'skip' })
  return {
    advance: (time: string) => post('/_understudy/sessions/one/clock', { advance: time }),
    call: async ({ path, body }: { path: string; body: object }, model: string) =>
      (await post(`/s/one${path}`, { ...body, model })).status,
  }
}

test.each(MEETINGS)('incident %s: meets a direct call, and ends', async (name, call, model, statuses) => {
  const session = await under(name)
  const seen: [string, number][] = []
  for (const [time] of statuses) {
    if (time !== '0s') await session.advance(time)
    seen.push([time, await session.call(call, model)])
  }
  expect(seen).toEqual(statuses)
})

test.each(CHANCES)('incident %s: fails some calls, and not all', async (name, call, model, time, failed) => {
  const session = await under(name)
  if (time !== '0s') await session.advance(time)
  const seen = new Set<number>()
  for (let number = 0; number < 12; number++) seen.add(await session.call(call, model))
  expect([...seen].sort()).toEqual([200, failed])
})
