// What can be made of a call: a fixture that answers like it, a scenario that repeats its bad day, a test that does both.
import { asTemplate } from '../answers/template.ts'
import type { Operation } from '../contract/operation.ts'
import type { AttemptRecord, StoredTrace } from '../contract/trace.ts'
import { yaml } from '../lib/yaml.ts'
import type { Scenario } from '../scenarios/engine.ts'

/** Something made of a call, as the text of a file. */
interface MadeFile {
  name: string
  text: string
  /** What it holds, as a request has it; null for a test. */
  value: Record<string, unknown> | null
}

/** A call, and what is known of its making. */
interface CallSource {
  trace: StoredTrace
  /** Its operation; undefined for a call of none. */
  operation: Operation | undefined
  /** The scenario that was played, as it is now. */
  scenario: Scenario | undefined
}

const slugOf = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40) || 'call'

const about = ({ id }: StoredTrace) => `# Made of the trace ${id}.\n`

/** The fixture as a value, undefined when the call says nothing that a fixture could. */
function fixtureValue({ trace, operation }: CallSource): Record<string, unknown> | undefined {
  if (!operation) return undefined
  const { error, status } = trace
  const failure = error && { error: { status, type: error.type, code: error.code, message: error.message } }
  const reply = asTemplate(trace.answer === null ? failure : operation.scriptOf(trace.answer))
  if (!reply) return undefined
  const asked = operation.request.safeParse(trace.rendered ?? trace.request)
  const { user = '', answer } = asked.success ? operation.prompt(asked.data) : {}
  return {
    name: `${slugOf(user)}-${trace.id.slice(-6).toLowerCase()}`,
    match: {
      operation: trace.operation,
      ...(trace.model !== null && { model: trace.model }),
      ...(user !== '' && { user }),
      ...(answer && { answer }),
      ...(operation.events && { stream: trace.stream }),
    },
    reply,
  }
}

/** A fixture that answers an equal call as this one was. */
export function fixtureOfCall(source: CallSource): MadeFile | undefined {
  const value = fixtureValue(source)
  return value && yamlFile(value, source)
}

function yamlFile(value: Record<string, unknown>, { trace }: CallSource): MadeFile {
  return { name: `${value.name}.yaml`, text: `${about(trace)}${yaml().stringify(value, { lineWidth: 120 })}`, value }
}

/** The fault that has an attempt end as this one did. */
function faultOf({ outcome, status, duration_ms }: AttemptRecord): Record<string, unknown> {
  switch (outcome) {
    case 'timed out':
      return { type: 'hang' }
    case 'disconnected':
      return duration_ms >= LONG_SILENCE_MS
        ? { type: 'hang', for: `${Math.round(duration_ms / 1_000)}s` }
        : { type: 'reset' }
    case 'unreadable':
      return { type: 'malformed-json' }
    default:
      return { type: 'http-error', status: status >= 400 ? status : 500 }
  }
}
const LONG_SILENCE_MS = 5_000

function scenarioValue({ trace, scenario }: CallSource): Record<string, unknown> | undefined {
  const ruleOf = (names: readonly string[]) => scenario?.rules.find(({ name }) => names.includes(name))
  const seen = new Map<string, number>()
  const attempts = trace.attempts.flatMap((attempt) => {
    const { target, outcome, faults } = attempt
    const number = (seen.get(target) ?? 0) + 1
    seen.set(target, number)
    if (outcome === 'answered' && faults.length === 0) return []
    const fault = ruleOf(faults)?.fault ?? faultOf(attempt)
    return [{ name: `${target}, attempt ${number}`, match: { model: target }, when: { calls: number }, fault }]
  })
  const onTheWay = trace.faults.flatMap((name) => {
    const rule = ruleOf([name])
    return rule?.fault ? [{ name, at: 'gateway', match: {}, when: { calls: 1 }, fault: rule.fault }] : []
  })
  const rules = [...attempts, ...onTheWay]
  if (rules.length === 0) return undefined
  const name = `again-${trace.id.slice(-6).toLowerCase()}`
  const description = `What went wrong in the call ${trace.id}: ${trace.outcome} ${trace.status} after ${trace.attempts.length} attempts.`
  return { name, description, clock: 'virtual', rules }
}

/** A scenario in which the attempts of the first equal call fail as those of this one did; undefined when none failed. */
export function scenarioOfCall(source: CallSource): MadeFile | undefined {
  const value = scenarioValue(source)
  return value && yamlFile(value, source)
}

/** The request as it came, or as it was understood when it came by another API or names a model without its provider. */
const requestAgain = ({ request, rendered }: StoredTrace, operation: Operation): unknown =>
  operation.request.safeParse(request).success ? request : (rendered ?? request)

/** A vitest file that makes the call again, in a session with the fixture and the scenario. */
export function testOfCall(source: CallSource): MadeFile | undefined {
  const { trace, operation } = source
  if (operation?.body !== 'json') return undefined
  const session = {
    clock: 'virtual',
    scenario: scenarioValue(source),
    fixtures: [fixtureValue(source)].filter(Boolean),
  }
  const indented = (value: unknown) => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
  const lines = [
    `// Made of the trace ${trace.id}.`,
    ...TEST_HEAD,
    `test(${JSON.stringify(`${trace.operation} is ${trace.outcome} with ${trace.status}`)}, async () => {`,
    ...TEST_BEGIN,
    `  const session = ${indented(session)}`,
    ...TEST_SEND,
    `  const request = ${indented(requestAgain(trace, operation))}`,
    `  const response = await send(${JSON.stringify(operation.path)}, request)`,
    '  await response.text()',
    '',
    `  expect(response.status).toBe(${trace.status})`,
    `  expect(response.headers.get('x-understudy-attempts')).toBe('${trace.attempts.length}')`,
    ...TEST_END,
  ]
  const name = `${slugOf(trace.name)}-${trace.id.slice(-6).toLowerCase()}.test.ts`
  return { name, text: lines.join('\n'), value: null }
}

const TEST_HEAD = [
  "import { expect, test } from 'vitest'",
  '',
  'const url = process.env.UNDERSTUDY_URL ?? "http://127.0.0.1:4010"',
  'const token = process.env.UNDERSTUDY_TOKEN ?? "any"',
  '',
]
const TEST_BEGIN = [
  '  const name = "test-" + crypto.randomUUID()',
  '  const headers = {',
  "    'content-type': 'application/json',",
  '    authorization: "Bearer " + token,',
  "    'x-understudy-session': name,",
  '  }',
  '  const send = (path: string, body: unknown) =>',
  "    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })",
]
const TEST_SEND = [
  "  await send('/_understudy/sessions', { name, ...session })",
  '',
  '  // Put your own client here: token + "#" + name as its key has it work in the session.',
]
const TEST_END = [
  '  const verdict = await (await fetch(url + "/_understudy/verify", { headers })).json()',
  '  expect(verdict.rules.every((rule: { applied: number }) => rule.applied > 0)).toBe(true)',
  '})',
  '',
]
