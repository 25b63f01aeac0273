// GET /_understudy/traces/:id/made: what can be made of a call, as texts of files.
import { z } from 'zod'
import { ApiError } from '../contract/error.ts'
import { asRoute, type Route } from '../contract/route.ts'
import { fixtureOfCall, scenarioOfCall, testOfCall } from './made-of.ts'
import type { ControlDeps } from './types.ts'

const MadeFile = z
  .object({
    name: z.string().describe('Name of the file.'),
    text: z.string().describe('Its text.'),
    value: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('What it holds, as a request has it; null for a test.'),
  })
  .nullable()
const Made = z.object({
  fixture: MadeFile.describe('Answers an equal call as this one was; null when nothing was answered.'),
  scenario: MadeFile.describe('Has the attempts fail as they did; null when none has.'),
  test: MadeFile.describe('Makes the call again with vitest; null when that cannot be written as JSON.'),
})

export function madeRoute({ sessionOf, runs, operation }: ControlDeps): Route {
  return asRoute({
    method: 'get',
    path: '/_understudy/traces/:id/made',
    tag: 'Emulator',
    operationId: 'getFilesOfTrace',
    summary: 'Make files of a trace',
    description: 'A fixture, a scenario and a test that repeat a call, each as the text of a file.',
    response: Made,
    errors: [404],
    handle({ request, params: { id = '' } }): z.infer<typeof Made> {
      const trace = sessionOf(request).traces.get(id)
      if (!trace) {
        const message = `there is no trace with the id ${JSON.stringify(id)} in this session`
        throw new ApiError(404, 'trace_not_found', message)
      }
      const scenario = runs.all().find(({ name }) => name === trace.scenario)
      const source = { trace, operation: operation(trace.operation), scenario }
      return {
        fixture: fixtureOfCall(source) ?? null,
        scenario: scenarioOfCall(source) ?? null,
        test: testOfCall(source) ?? null,
      }
    },
  })
}
