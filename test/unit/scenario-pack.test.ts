// The shipped scenarios: each explains itself, is rehearsed, and meets its expectations.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

// Each test starts the executable, on a machine that may be busy.
setDefaultTimeout(30_000)
const folder = emptyFolder()
afterAll(folder.remove)
const scenarios = join(import.meta.dir, '..', '..', 'scenarios')
const names = readdirSync(scenarios).flatMap((file) => (file.endsWith('.yaml') ? [file.replace(/\.yaml$/, '')] : []))

interface Rehearsal {
  traces: TraceRecord[]
  report: Verification
}
const rehearse = async (name: string): Promise<Rehearsal> => {
  const { code, stdout, stderr } = await runCommand(['rehearse', name, '--json'], { cwd: folder.path })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

test('shipped scenarios: are at least 23', () => {
  expect(names.length).toBeGreaterThanOrEqual(23)
})

test.each(names)('shipped scenario %s: explains itself and its needs at its top', (name) => {
  const text = readFileSync(join(scenarios, `${name}.yaml`), 'utf8')
  const [first = '', second = '', third = ''] = text.split('\n')
  expect(first).toMatch(/^# [A-Z].{30,}\.$/)
  expect(second).toMatch(/^# Rehearses: /)
  expect(third.startsWith('# Needs: ')).toBe(/^needs: /m.test(text))
})

test.each(names)('shipped scenario %s: has a token quota that the default limit of an SDK fits in', (name) => {
  const { rules } = Bun.YAML.parse(readFileSync(join(scenarios, `${name}.yaml`), 'utf8')) as {
    rules: { fault?: { type: string; tokens?: number } }[]
  }
  // The AI SDK requests this many output tokens of some models.
  for (const { fault } of rules) expect(fault?.tokens ?? Number.POSITIVE_INFINITY).toBeGreaterThan(128_000)
})

test.each(names)('shipped scenario %s: matches the models of every provider', (name) => {
  const { rules } = Bun.YAML.parse(readFileSync(join(scenarios, `${name}.yaml`), 'utf8')) as {
    rules: { match?: Record<string, unknown> }[]
  }
  for (const { match = {} } of rules) expect(Object.keys(match)).not.toContainAnyValues(['provider', 'model'])
})

test.each(names)('shipped scenario %s: triggers every rule and meets its expectations', async (name) => {
  const { traces, report } = await rehearse(name)
  expect(report).toMatchObject({ scenario: name, ok: true })
  expect(report.expectations.length).toBeGreaterThan(0)
  expect(report.rules.filter(({ applied }) => applied === 0)).toEqual([])
  expect(traces.some(({ faults, attempts }) => faults.length + attempts.flatMap((one) => one.faults).length > 0)).toBe(
    true,
  )
})

test('rehearsal: repeats to the byte', async () => {
  expect(await rehearse('brown-out')).toEqual(await rehearse('brown-out'))
})
