// Every shipped scenario under exec: a careful program passes, a careless one does not.
import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runLines } from '../../src/cli/print/report.ts'
import { plainLines } from '../support/cli.ts'
import { play } from '../support/exec.ts'
import { client } from '../support/in-process.ts'

// Each test starts programs, on a machine that may be busy.
setDefaultTimeout(60_000)
const names = readdirSync(join(import.meta.dir, '..', '..', 'scenarios')).flatMap((file) =>
  file.endsWith('.yaml') ? [file.replace(/\.yaml$/, '')] : [],
)

/** What a program asks for where the usual would not meet the scenario. */
interface Setting {
  model?: string
  fallback?: string
  /** Milliseconds before each call, in virtual time. */
  wait?: number
  /** How a careless program is: it quits at once unless told otherwise. */
  careless?: 'hammers'
}
const SETTINGS: Record<string, Setting> = {
  overloaded: { model: 'anthropic/claude-sonnet-4', fallback: 'openai/gpt-4o' },
  'regional-outage': { fallback: 'openai/gpt-4.1' },
  outage: { wait: 20_000 },
  'brown-out': { wait: 25_000 },
  // Where a call cannot succeed, or only elsewhere, to give up is right; to hammer is not.
  'bad-key': { careless: 'hammers' },
  'context-length': { careless: 'hammers' },
  'rate-limit-forever': { careless: 'hammers' },
  'timeout-then-fallback': { careless: 'hammers' },
}

/** Scenarios that provoke nothing even in a careless program, and why. */
const EXEMPT: Record<string, string> = {
  'content-filter': 'the answer is complete, only its finish reason differs, and nobody sees who reads that',
  'slow-first-token': 'whoever waits has done nothing wrong',
  'stream-missing-done': 'the answer is complete, and a client that takes it so is right',
}

const shipped = (manner: string, name: string) => {
  if (name.startsWith('agent-')) return client('agent-tasks', manner)
  const { model = 'openai/gpt-4o', fallback = 'anthropic/claude-sonnet-4', wait = 0 } = SETTINGS[name] ?? {}
  return client('shipped', manner, model, fallback, String(wait))
}

/** Where nothing helps, a careful program repeats and then tells its user, which nobody can see from here: a warning. */
const HOPELESS = ['black-hole', 'fallback-down']

test.concurrent.each(names)('shipped scenario %s: passes a careful program', async (name) => {
  const { code, run, findings } = await play(shipped('careful', name), name)
  expect({ findings, report: code === 0 ? '' : plainLines(runLines(run)).join('\n') }).toEqual({
    findings: { [name]: HOPELESS.includes(name) ? ['gave-up'] : [] },
    report: '',
  })
})

/** Half a response and an exit code of 0 prove nothing: the program may have told its user. */
const WARNED = ['stream-cut', 'stream-error', 'stream-malformed', 'stream-plain-error', 'stream-stalled']
const careless = (name: string) => shipped(SETTINGS[name]?.careless ?? 'quits', name)
const accused = names.filter((name) => !(name in EXEMPT) && !WARNED.includes(name))

test.concurrent.each(accused)('shipped scenario %s: fails a careless program', async (name) => {
  const { code, findings } = await play(careless(name), name)
  expect(findings[name]).not.toEqual([])
  expect(code).toBe(3)
})

test.concurrent.each(WARNED)('shipped scenario %s: warns about a careless program that exits with 0', async (name) => {
  const lenient = await play(careless(name), name)
  // Streams that were left and those that ended have a finding each, and both happen.
  expect([lenient.code, [...new Set(lenient.findings[name])]]).toEqual([0, ['swallowed']])
  expect((await play(careless(name), name, { strict: true })).code).toBe(3)
})

test.concurrent.each(Object.keys(EXEMPT))('shipped scenario %s: provokes no finding', async (name) => {
  const { findings } = await play(shipped('quits', name), name)
  expect(findings).toEqual({ [name]: [] })
})
