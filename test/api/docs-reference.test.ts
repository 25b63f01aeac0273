// The reference is what the program would write today, and everything that the program knows is in it.

import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { z } from 'zod'
import { PROMPT_NAMES } from '../../src/answers/template.ts'
import { CallMatch } from '../../src/backends/fixture/fixture-schema.ts'
import { referencePages } from '../../src/build/reference.ts'
import { ExecJson, ExploreJson, RehearseJson } from '../../src/cli/print/report-schemas.ts'
import { SETTINGS } from '../../src/config.ts'
import { FindingKind } from '../../src/contract/core/finding.ts'
import { ToolMatch } from '../../src/contract/core/tool-fixture.ts'
import { Verification } from '../../src/contract/core/verification.ts'
import { fixtureSubjects } from '../../src/endpoints/index.ts'
import { faultKinds } from '../../src/faults/index.ts'
import { Expectation, Rule, RuleMatch, ScenarioFile } from '../../src/scenarios/schema.ts'
import { testApps } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'

const ROOT = join(import.meta.dir, '..', '..')
const pages = await referencePages()
const committed = (name: string) => readFileSync(join(ROOT, 'docs', 'reference', `${name}.md`), 'utf8')
const { appWith, close } = testApps()
afterAll(close)

/** The names among some that a page does not have as code. */
const missing = (name: string, names: Iterable<string>) => {
  const text = committed(name)
  return [...new Set(names)].filter((one) => !text.includes(`\`${one}`))
}

/** The names of all keys of a schema, at any depth. */
function keysOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): string[] {
  const found = new Set<string>()
  const look = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return
    const { properties } = value as { properties?: Record<string, unknown> }
    if (properties && !('const' in properties)) for (const key of Object.keys(properties)) found.add(key)
    for (const inner of Object.values(value)) look(inner)
  }
  look(z.toJSONSchema(schema, { io, unrepresentable: 'any' }))
  return [...found]
}

/** The keys of a schema that no path in a page ends with. */
const missingKeys = (name: string, schema: z.ZodType, io?: 'input' | 'output') => {
  const text = committed(name)
  return keysOf(schema, io).filter((key) => !new RegExp(`[\`.]${RegExp.escape(key)}\``).test(text))
}

const sources = [...new Glob('src/**/*.{ts,tsx}').scanSync(ROOT)].filter((path) => !path.startsWith('src/build/'))
const inSources = (pattern: RegExp) =>
  new Set(sources.flatMap((path) => readFileSync(join(ROOT, path), 'utf8').match(pattern) ?? []))

describe('reference', () => {
  test.each(Object.keys(pages))('%s: is what `npm run docs` writes', (path) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(pages[path] ?? '')
  })

  test('has a meaning in every row', () => {
    const without = Object.entries(pages).flatMap(([path, text]) =>
      (text.match(/^\| .*\.\* \|$/gm) ?? []).map((row) => `${path}: ${row}`),
    )
    expect(without).toEqual([])
  })

  test('lists every fault type with its parameters and an example', () => {
    const sections = new Map(
      committed('faults')
        .split(/^## /m)
        .map((section) => [section.split('\n')[0] ?? '', section]),
    )
    const incomplete = faultKinds.filter(({ type, options, summary }) => {
      const section = sections.get(type) ?? ''
      const parameters = Object.keys(options.shape)
      return !(
        section.includes(summary) &&
        section.includes(`      type: ${type}\n`) &&
        parameters.every((name) => section.includes(`\n| \`${name}\` |`))
      )
    })
    expect(incomplete.map(({ type }) => type)).toEqual([])
  })

  test('lists every key of scenario files', () => {
    const { needs, ...file } = ScenarioFile.shape
    const { when, ...rule } = Rule.shape
    expect(missing('scenario-files', [file, rule].flatMap(Object.keys))).toEqual([])
    const schemas = [RuleMatch, Expectation, needs, when]
    expect(schemas.flatMap((schema) => missingKeys('scenario-files', schema))).toEqual([])
  })

  test('lists every matcher, key of a reply and template name of fixture files', () => {
    const schemas = [CallMatch, ToolMatch, ...fixtureSubjects.map(({ script }) => script)]
    expect(schemas.flatMap((schema) => missingKeys('fixture-files', schema))).toEqual([])
    expect(missing('fixture-files', PROMPT_NAMES)).toEqual([])
    expect(fixtureSubjects.filter(({ name }) => !committed('fixture-files').includes(name))).toEqual([])
  })

  test('lists every finding', () => {
    expect(
      FindingKind.options.filter((kind) => !/\w/.test(committed('findings').split(`| \`${kind}\` |`)[1] ?? '')),
    ).toEqual([])
  })

  test('lists every setting, flag and environment variable', () => {
    expect(missing('settings', Object.keys(SETTINGS))).toEqual([])
    expect(missing('settings', inSources(/\bUNDERSTUDY_[A-Z_]+\b/g))).toEqual([])
  })

  test('lists every flag that the help of a command prints', async () => {
    const text = committed('commands')
    const names = [...text.matchAll(/^## understudy (.*)$/gm)].map(([, name = '']) => name)
    const { stdout: main } = await runCommand(['--help'])
    const known = [...main.matchAll(/^ {2}([a-z]+)[ [|]/gm)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'help')
    expect(known.filter((name) => !names.some((one) => one.split(' ')[0] === name))).toEqual([])
    const absent = await Promise.all(
      names.map(async (name) => {
        const { stdout } = await runCommand(['help', ...name.split(' ')])
        const flags = [...stdout.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, flag = '']) => flag)
        const section = text.split(`## understudy ${name}\n`)[1]?.split(/^## /m)[0] ?? ''
        return flags
          .filter((flag) => flag !== '--help' && !section.includes(`\`${flag}`))
          .map((flag) => `${name} ${flag}`)
      }),
    )
    expect(absent.flat()).toEqual([])
  })

  test('lists every header of the program', () => {
    expect(missing('headers', inSources(/\bx-understudy-[a-z]+(?:-[a-z]+)*/g))).toEqual([])
  })

  test('lists every metric and endpoint of a server', async () => {
    const { fetch } = appWith()
    const { text } = await fetch('/_understudy/metrics')
    expect(
      missing(
        'metrics',
        [...text.matchAll(/^# HELP (\S+)/gm)].map(([, name = '']) => name),
      ),
    ).toEqual([])
    const { paths } = (await fetch('/swagger/json')).json() as { paths: Record<string, object> }
    const endpoints = Object.entries(paths)
      .filter(([path]) => path.startsWith('/_understudy'))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    expect(missing('control-api', endpoints)).toEqual([])
  })

  test('lists every key of JSON reports', () => {
    const reports = [Verification, ExecJson, ExploreJson, RehearseJson.omit({ traces: true })]
    const keys = new Set(reports.flatMap((schema) => keysOf(schema, 'output')))
    const text = committed('json-reports') + committed('findings')
    expect([...keys].filter((key) => !new RegExp(`[\`.]${RegExp.escape(key)}\``).test(text))).toEqual([])
  })
})
