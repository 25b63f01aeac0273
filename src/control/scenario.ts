// /_understudy/scenario: which scenario is played in the session, with its counters.
import { z } from 'zod'
import { ApiError } from '../contract/error.ts'
import type { Route } from '../contract/route.ts'
import { FileError, parseSource } from '../contract/source.ts'
import type { Run } from '../scenarios/engine.ts'
import { parseScenario } from '../scenarios/load.ts'
import type { Runs } from '../scenarios/runs.ts'
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
      description: 'Begins a scenario in the session, with all counters at 0: `{"name": ...}` for a known one, or a whole scenario as JSON or YAML.',
      body: z.looseObject({ name: z.string() }).describe('The name of a known scenario, or a scenario file.'),
      response: Report,
      errors: [400],
      async handle({ request }) {
        const session = sessionOf(request)
        return report(runs.start(session, chosen(await request.text(), runs)))
      },
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

function chosen(text: string, runs: Runs) {
  try {
    const name = onlyName(text)
    return name === undefined ? parseScenario('body', text) : runs.find(name)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    throw new ApiError(400, 'invalid_scenario', error.message)
  }
}

/** The name in a body that has nothing else. */
function onlyName(text: string): string | undefined {
  const { value } = parseSource('body', text)
  const fields = Object.entries((value ?? {}) as object)
  return fields.length === 1 && fields[0]?.[0] === 'name' ? String(fields[0][1]) : undefined
}
