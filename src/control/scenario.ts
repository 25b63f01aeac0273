// /_understudy/scenario: which scenario is played in the session, with its counters.
import { z } from 'zod'
import type { Route } from '../contract/route.ts'
import { parseRequest } from '../contract/validation.ts'
import type { Run } from '../scenarios/engine.ts'
import type { Runs } from '../scenarios/runs.ts'
import { ScenarioFile } from '../scenarios/schema.ts'
import type { ControlDeps } from './index.ts'

const count = z.int().min(0)
/** What a scenario has to tell while it is played. */
const Report = z.object({
  scenario: z.string().nullable().describe('Its name; null when none is played.'),
  state: z.string().nullable(),
  started_at: z.iso.datetime().nullable(),
  rules: z.array(
    z.object({
      name: z.string(),
      fault: z.string().nullable(),
      at: z.enum(['provider', 'gateway', 'workspace']),
      matched: count.describe('Attempts or calls that the rule is about.'),
      fired: count.describe('How often its fault was chosen.'),
      applied: count.describe('How often the fault really acted.'),
      skipped: z.record(z.string(), count).describe('Why it did not act although it was chosen.'),
    }),
  ),
})

const report = (run: Run | undefined): z.infer<typeof Report> => ({
  scenario: run?.name ?? null,
  state: run?.state() ?? null,
  started_at: run ? new Date(run.started).toISOString() : null,
  rules: run?.rules() ?? [],
})

export function scenarioRoutes({ sessionOf, runs }: ControlDeps): Route[] {
  const path = '/_understudy/scenario'
  return [
    {
      method: 'get',
      path,
      tag: 'Emulator',
      summary: 'Get the scenario',
      description: 'The scenario that is played in the session, with what became of each rule.',
      response: Report,
      handle: ({ request }) => report(runs.current(sessionOf(request))),
    },
    {
      method: 'put',
      path,
      tag: 'Emulator',
      summary: 'Play a scenario',
      description:
        'Begins a scenario in the session, with all counters at 0: `{"name": ...}` for a known one, or a whole scenario as it would stand in a file.',
      body: z.looseObject({ name: z.string() }).describe('The name of a known scenario, or a scenario file.'),
      response: Report,
      errors: [400],
      handle: ({ request, body }) => report(runs.start(sessionOf(request), chosen(body as object, runs))),
    },
    {
      method: 'delete',
      path,
      tag: 'Emulator',
      summary: 'Stop the scenario',
      description: 'Ends the scenario of the session: nothing goes wrong any more.',
      response: Report,
      handle({ request }) {
        const session = sessionOf(request)
        runs.stop(session)
        return report(runs.current(session))
      },
    },
  ]
}

/** The known scenario of a name, or the one that the body is. */
function chosen(body: object, runs: Runs) {
  const [name, ...more] = Object.entries(body)
  if (name?.[0] === 'name' && more.length === 0) return runs.find(String(name[1]))
  const scenario = parseRequest(ScenarioFile, body, { whole: 'the scenario' })
  return { ...scenario, place: 'the request' }
}
