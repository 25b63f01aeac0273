// Scenarios in force in a session of its own, for the tests of the faults.
import { fixedSource } from '../../src/scenarios/load.ts'
import { ScenarioFile } from '../../src/scenarios/schema.ts'
import type { TestApp } from './app.ts'
import { bodyOf, CHAT } from './chat.ts'

/** Starts a scenario in a session by functions: the control API would judge the calls before, and describe the scenario. */
export function startScenario({ understudy: { runs, sessions } }: TestApp, session: string, written: object): void {
  runs.start(sessions.get(session), fixedSource({ ...ScenarioFile.parse(written), location: 'the test' }))
}

/** What the scenario of a session says of a rule. */
export const ruleOf = ({ understudy: { runs, sessions } }: TestApp, session: string, name: string) =>
  runs
    .current(sessions.get(session))
    ?.rules()
    .find((rule) => rule.name === name)

let sessions = 0

/** A new session with these rules and more fields of the scenario, and calls to it. */
export async function playing(app: TestApp, rules: readonly object[], more: object = {}) {
  const session = `faults-${++sessions}`
  const prefix = `/s/${session}`
  startScenario(app, session, {
    name: 'bad-day',
    clock: 'virtual',
    ...more,
    rules: rules.map((rule, index) => ({ name: `rule ${index + 1}`, ...rule })),
  })
  return {
    prefix,
    /** A chat call, whole unless told otherwise. */
    chat: (patch: object = {}) => app.post(`${prefix}${CHAT}`, bodyOf(patch)),
    post: (path: string, body: object) => app.post(`${prefix}${path}`, body),
    /** What the scenario says of a rule. */
    rule: async (name = 'rule 1') => ruleOf(app, session, name),
  }
}
