// /_understudy/scenario: the active scenario of the session, with its counters.
import { z } from 'zod'
import { ScenarioCheck, type ScenarioPhase, ScenarioReport } from '../contract/core/control-answers.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Route } from '../contract/core/route.ts'
import { lazy } from '../lib/lazy.ts'
import { yaml } from '../lib/yaml.ts'
import type { Scenario } from '../scenarios/engine.ts'
import type { ScenarioSource } from '../scenarios/load.ts'
import type { ScenarioRuns } from '../scenarios/runs.ts'
import { FileError, parseSource } from '../schema/source.ts'
import { parseRequest } from '../schema/validation.ts'
import { REQUEST_LIMITS } from '../schema/yaml-text.ts'
import type { Session } from '../sessions/sessions.ts'
import { type ControlDeps, controlRoute } from './types.ts'

const scenarios = lazy<typeof import('../scenarios/load.ts')>(() => require('../scenarios/load.ts'))
const format = lazy<typeof import('../scenarios/schema.ts')>(() => require('../scenarios/schema.ts'))

const Known = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      name: z.string().describe('Name of the scenario. Use it to activate the scenario.'),
      description: z.string().nullable(),
      from: z.string().describe('Source of the scenario.'),
      rules: z.array(z.string()).describe('Names of its rules.'),
    }),
  ),
})

/** A scenario in a request: the name of a known one, or a whole one. */
export const ScenarioBody = z
  .union([
    z.looseObject({ name: z.string().describe('Name.') }),
    z.strictObject({ text: z.string().describe('A scenario as the text of a file.') }),
  ])
  .describe(
    'A complete scenario as JSON, `{"text": ...}` with the text of a scenario file, or `{"name": ...}` for a known scenario.',
  )

/** `/_understudy/scenario`: shows, activates and deactivates the session's scenario; lists the scenarios. */
export function scenarioRoutes({ sessionOf, runs, operations, observers, earlier }: ControlDeps): Route[] {
  const shared = { path: '/_understudy/scenario', answerName: 'Scenario', response: ScenarioReport }
  const report = (session: Session): ScenarioReport => {
    const run = runs.current(session)
    return {
      scenario: run?.name ?? null,
      from: run?.scenario.location ?? null,
      text: run?.scenario.text ?? null,
      problem: runs.problem(session) ?? null,
      warnings: run ? scenarios().rulesWithoutEffect(run.scenario, operations()) : [],
      state: run?.state() ?? null,
      started_at: run ? new Date(run.started).toISOString() : null,
      rules: run?.rules() ?? [],
      phases: run ? phasesOf(run.scenario) : [],
    }
  }
  return [
    controlRoute({
      path: '/_understudy/scenarios',
      session: 'none',
      operationId: 'listScenarios',
      summary: 'List scenarios',
      description: 'The scenarios that can be activated by name: those passed at startup and the built-in ones.',
      response: Known,
      handle: (): z.infer<typeof Known> => ({
        object: 'list',
        data: runs.all().map(({ name, description, location, rules }) => ({
          name,
          description: description ?? null,
          from: location,
          rules: rules.map((rule) => rule.name),
        })),
      }),
    }),
    controlRoute({
      method: 'post',
      path: '/_understudy/scenario/check',
      session: 'none',
      operationId: 'checkScenario',
      summary: 'Check a scenario',
      description:
        'Validates the text of a scenario and reports problems by line, as `understudy check` does. Does not activate it.',
      body: CheckBody,
      examples: { typo: { text: 'name: busy\nrules:\n  - name: often\n    fault: { type: http-errr }\n' } },
      response: ScenarioCheck,
      handle: ({ body: { text } }): ScenarioCheck => check(text, operations()),
    }),
    controlRoute({
      ...shared,
      operationId: 'getScenario',
      summary: 'Get the active scenario',
      description: 'The active scenario of the session with the counts of each rule.',
      handle: ({ request }) => report(sessionOf(request)),
    }),
    controlRoute({
      method: 'put',
      ...shared,
      operationId: 'activateScenario',
      summary: 'Activate a scenario',
      description:
        'Activates a scenario in the session and resets all counters to 0. Send `{"name": ...}` for a known scenario, a complete scenario as JSON, or `{"text": ...}` with the text of a scenario file.',
      body: ScenarioBody,
      examples: { known: { name: 'rate-limit-burst' } },
      handle({ request, body }) {
        const session = sessionOf(request)
        const chosen = chosenScenario(body, runs)
        const keep = earlier.before(session, 'scenario')
        runs.start(session, chosen)
        keep()
        observers.notify({ type: 'session-changed', session: session.name, change: 'scenario' })
        return report(session.slot.current)
      },
    }),
    controlRoute({
      method: 'delete',
      ...shared,
      operationId: 'deactivateScenario',
      summary: 'Deactivate the scenario',
      description: 'Deactivates the scenario of the session. No more faults are injected.',
      handle({ request }) {
        const session = sessionOf(request)
        runs.stop(session)
        observers.notify({ type: 'session-changed', session: session.name, change: 'scenario' })
        return report(session.slot.current)
      },
    }),
  ]
}

/**
 * The known scenario of a name, or the one in the body.
 * @throws ApiError 400
 */
export function chosenScenario(given: string | object, runs: ScenarioRuns, param = ''): ScenarioSource {
  if (typeof given === 'string') return runs.find(given)
  const [name, ...more] = Object.entries(given)
  if (name?.[0] === 'name' && more.length === 0) return runs.find(String(name[1]))
  if (name?.[0] === 'text' && more.length === 0) return scenarios().fixedSource(scenarioOfText(String(name[1]), param))
  const scenario = parseRequest(format().ScenarioFile, given, { whole: 'the scenario', under: param })
  return scenarios().fixedSource({ ...scenario, location: IN_REQUEST, text: yaml().stringify(given) })
}

/** The phases of all rules with a schedule or time limits. */
function phasesOf({ rules }: Scenario): ScenarioPhase[] {
  return rules.flatMap(({ name, when: { schedule, after, for: length } }): ScenarioPhase[] => {
    if (schedule) {
      let at = 0
      return schedule.map(({ phase, for: lasts }) => {
        const from = at
        at += lasts ?? 0
        return { rule: name, phase, from_ms: from, to_ms: lasts === undefined ? null : at }
      })
    }
    if (after === undefined && length === undefined) return []
    const from = after ?? 0
    return [{ rule: name, phase: 'down', from_ms: from, to_ms: length === undefined ? null : from + length }]
  })
}

// POST /_understudy/scenario/check validates a scenario, with the line of every mistake.

/** The file name of a scenario in a request. */
const IN_REQUEST = 'the request'

/** A message that starts with its position, as for files. */
function remarkOf(text: string): ScenarioCheck['problems'][number] {
  const [, line = '1', column = '1', message = text] = /^.*?:(\d+):(\d+): (.*)$/s.exec(text) ?? []
  return { line: Number(line), column: Number(column), message }
}

const sourceOf = (text: string) => parseSource(IN_REQUEST, text, REQUEST_LIMITS)

/**
 * The scenario in a text.
 * @throws ApiError 400 with a line for every mistake
 */
function scenarioOfText(text: string, param = ''): Scenario {
  try {
    return scenarios().scenarioIn(sourceOf(text), text)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    throw new ApiError(400, 'invalid_request_error', error.message, { param: param === '' ? 'text' : `${param}.text` })
  }
}

const CheckBody = z.strictObject({ text: z.string().describe('The text of a scenario, in YAML or JSON.') })

function check(text: string, operations: readonly string[]): ScenarioCheck {
  try {
    const source = sourceOf(text)
    const scenario = scenarios().scenarioIn(source, text)
    const idle = scenarios().rulesWithoutEffect(scenario, operations, (index) => source.at(['rules', index]))
    return { valid: true, name: scenario.name, problems: [], warnings: idle.map(remarkOf) }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { valid: false, name: null, problems: error.problems.map(remarkOf), warnings: [] }
  }
}
