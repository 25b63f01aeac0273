// GET /_understudy/traces/:id/reproduction: files that reproduce a call: a fixture with its response, a scenario with its
// failures, a test with both.

import { asTemplate } from '../answers/template.ts'
import { type GeneratedFile, GeneratedFiles } from '../contract/core/control-answers.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { Route } from '../contract/core/route.ts'
import type { AttemptRecord, StoredTrace } from '../contract/core/trace.ts'
import { yaml } from '../lib/yaml.ts'
import type { Scenario } from '../scenarios/engine.ts'
import { unknownTrace } from './traces.ts'
import { type ControlDeps, controlRoute } from './types.ts'

/** The route that generates files to reproduce a call. */
export function reproduceRoute({ sessionOf, runs, operation }: ControlDeps): Route {
  return controlRoute({
    path: '/_understudy/traces/:id/reproduction',
    operationId: 'getReproduction',
    summary: 'Generate files from a trace',
    description: 'A fixture, a scenario, and a test that reproduce a call, each as the text of a file.',
    response: GeneratedFiles,
    errors: [404],
    handle({ request, params: { id = '' } }): GeneratedFiles {
      const session = sessionOf(request)
      const trace = session.traces.get(id)
      if (!trace) throw unknownTrace(id, [session])
      const scenario = trace.scenario === null ? undefined : runs.all().find(({ name }) => name === trace.scenario)
      const source = { trace, operation: operation(trace.operation), scenario }
      return { fixture: generateFixture(source), scenario: generateScenario(source), test: generateTest(source) }
    },
  })
}

/** A call with its operation and scenario. */
interface CallSource {
  trace: StoredTrace
  /** Undefined if no operation was called. */
  operation: Operation | undefined
  /** The active scenario, as it is now. */
  scenario: Scenario | undefined
}

const toSlug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40) || 'call'

/** The fixture as a value; undefined if a fixture cannot represent the call. */
function fixtureValue({ trace, operation }: CallSource): Record<string, unknown> | undefined {
  if (!operation) return undefined
  const { error, status } = trace
  const failure = error && { error: { status, type: error.type, code: error.code, message: error.message } }
  const reply = asTemplate(trace.response === null ? failure : operation.scriptOf(trace.response))
  if (!reply) return undefined
  const parsed = operation.request.safeParse(trace.rendered ?? trace.request)
  const { user = '', answer: output } = parsed.success ? operation.prompt(parsed.data) : {}
  return {
    name: `${toSlug(user)}-${trace.id.slice(-6).toLowerCase()}`,
    match: {
      operation: trace.operation,
      ...(trace.model !== null && { model: trace.model }),
      ...(user !== '' && { user }),
      ...(output && { output }),
      ...(operation.events && { stream: trace.stream }),
    },
    reply,
  }
}

/** A fixture that gives an equal call the same response; null if a fixture cannot. */
const generateFixture = (source: CallSource) => yamlFile(fixtureValue(source), source)

function yamlFile(value: Record<string, unknown> | undefined, { trace }: CallSource): GeneratedFile | null {
  if (!value) return null
  const text = `# Generated from trace ${trace.id}.\n${yaml().stringify(value, { lineWidth: 120 })}`
  return { name: `${value.name}.yaml`, text, value }
}

/** The fault that makes an attempt end as this one did. */
function equalFault({ outcome, status, duration_ms }: AttemptRecord): Record<string, unknown> {
  switch (outcome) {
    case 'timed_out':
      return { type: 'hang' }
    case 'disconnected':
      return duration_ms >= LONG_SILENCE_MS
        ? { type: 'hang', for: `${Math.round(duration_ms / 1_000)}s` }
        : { type: 'reset' }
    case 'invalid_response':
      return { type: 'malformed-json' }
    default:
      return { type: 'http-error', status: status >= 400 ? status : 500 }
  }
}
const LONG_SILENCE_MS = 5_000

function scenarioValue({ trace, scenario }: CallSource): Record<string, unknown> | undefined {
  const findRule = (names: readonly string[]) => scenario?.rules.find(({ name }) => names.includes(name))
  const seen = new Map<string, number>()
  const attempts = trace.attempts.flatMap((attempt) => {
    const { target, outcome, faults } = attempt
    const number = (seen.get(target) ?? 0) + 1
    seen.set(target, number)
    if (outcome === 'succeeded' && faults.length === 0) return []
    const fault = findRule(faults)?.fault ?? equalFault(attempt)
    return [{ name: `${target}, attempt ${number}`, match: { model: target }, when: { calls: number }, fault }]
  })
  const afterGateway = trace.faults.flatMap((name) => {
    const rule = findRule([name])
    return rule?.fault ? [{ name, at: 'gateway', match: {}, when: { calls: 1 }, fault: rule.fault }] : []
  })
  const rules = [...attempts, ...afterGateway]
  if (rules.length === 0) return undefined
  const name = `again-${trace.id.slice(-6).toLowerCase()}`
  const description = `What went wrong in the call ${trace.id}: ${trace.outcome} ${trace.status} after ${trace.attempts.length} attempts.`
  return { name, description, clock: 'virtual', rules }
}

/** A scenario in which the attempts of the first equal call fail as those of this one did; null if none failed. */
const generateScenario = (source: CallSource) => yamlFile(scenarioValue(source), source)

/** The original request, or the rendered one if it came through another API or names a model without its provider. */
const requestAgain = ({ request, rendered }: StoredTrace, operation: Operation): unknown =>
  operation.request.safeParse(request).success ? request : (rendered ?? request)

/**
 * A Vitest file that repeats the call, in a session with the fixture and the scenario; null if its body is not JSON.
 */
function generateTest(source: CallSource): GeneratedFile | null {
  const { trace, operation } = source
  if (operation?.body !== 'json') return null
  const session = {
    clock: 'virtual',
    scenario: scenarioValue(source),
    fixtures: [fixtureValue(source)].filter(Boolean),
  }
  const indented = (value: unknown) => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
  const lines = [
    `// Generated from trace ${trace.id}.`,
    "import { expect, test } from 'vitest'",
    '',
    'const url = process.env.UNDERSTUDY_URL ?? "http://127.0.0.1:8633"',
    'const token = process.env.UNDERSTUDY_TOKEN ?? "any"',
    '',
    `test(${JSON.stringify(`${trace.operation} is ${trace.outcome} with ${trace.status}`)}, async () => {`,
    '  const name = "test-" + crypto.randomUUID()',
    '  const headers = {',
    "    'content-type': 'application/json',",
    '    authorization: "Bearer " + token,',
    "    'x-understudy-session': name,",
    '  }',
    '  const send = (path: string, body: unknown) =>',
    "    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })",
    `  const session = ${indented(session)}`,
    "  await send('/_understudy/sessions', { name, ...session })",
    '',
    '  // Put your own client here: token + "#" + name as its key has it work in the session.',
    `  const request = ${indented(requestAgain(trace, operation))}`,
    `  const response = await send(${JSON.stringify(operation.path)}, request)`,
    '  await response.text()',
    '',
    `  expect(response.status).toBe(${trace.status})`,
    `  expect(response.headers.get('x-understudy-attempts')).toBe('${trace.attempts.length}')`,
    '  const verdict = await (await fetch(url + "/_understudy/verify", { headers })).json()',
    '  expect(verdict.rules.every((rule: { applied: number }) => rule.applied > 0)).toBe(true)',
    '})',
    '',
  ]
  const name = `${toSlug(trace.name)}-${trace.id.slice(-6).toLowerCase()}.test.ts`
  return { name, text: lines.join('\n'), value: null }
}
