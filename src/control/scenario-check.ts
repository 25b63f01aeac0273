// POST /_understudy/scenario/check: validates a scenario, with the line of every mistake.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import type { Scenario } from '../scenarios/engine.ts'
import { rulesWithoutEffect, scenarioIn } from '../scenarios/load.ts'
import { FileError, parseSource } from '../schema/source.ts'
import { REQUEST_LIMITS } from '../schema/yaml-text.ts'

/** The file name of a scenario in a request. */
export const IN_REQUEST = 'the request'

const Remark = z.object({
  line: z.int().min(1).describe('Line of the text, from 1.'),
  column: z.int().min(1).describe('Column in it, from 1.'),
  message: z.string().describe('What is wrong and what is valid.'),
})
const Checked = z.object({
  valid: z.boolean().describe('Whether the scenario is valid.'),
  name: z.string().nullable().describe('Name of the scenario, or null if it cannot be read.'),
  problems: z.array(Remark).describe('Why the scenario is invalid.'),
  warnings: z.array(Remark).describe('Rules that can never be triggered.'),
})

/** A message that starts with its position, as for files. */
function remarkOf(text: string): z.infer<typeof Remark> {
  const [, line = '1', column = '1', message = text] = /^.*?:(\d+):(\d+): (.*)$/s.exec(text) ?? []
  return { line: Number(line), column: Number(column), message }
}

const sourceOf = (text: string) => parseSource(IN_REQUEST, text, REQUEST_LIMITS)

/**
 * The scenario in a text.
 * @throws ApiError 400 with a line for every mistake
 */
export function scenarioOfText(text: string, param = ''): Scenario {
  try {
    return scenarioIn(sourceOf(text), text)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    throw new ApiError(400, 'invalid_request_error', error.message, { param: param === '' ? 'text' : `${param}.text` })
  }
}

/** The route; `operations` are the names of the router's operations. */
export const scenarioCheckRoute = (operations: () => readonly string[]): Route =>
  asRoute({
    method: 'post',
    path: '/_understudy/scenario/check',
    tag: 'Emulator',
    session: 'none',
    operationId: 'checkScenario',
    summary: 'Check a scenario',
    description:
      'Validates the text of a scenario and reports problems by line, as `understudy check` does. Does not activate it.',
    body: z.strictObject({ text: z.string().describe('The text of a scenario, in YAML or JSON.') }),
    examples: { typo: { text: 'name: busy\nrules:\n  - name: often\n    fault: { type: http-errr }\n' } },
    response: Checked,
    handle: ({ body: { text } }): z.infer<typeof Checked> => check(text, operations()),
  })

function check(text: string, operations: readonly string[]): z.infer<typeof Checked> {
  try {
    const source = sourceOf(text)
    const scenario = scenarioIn(source, text)
    const idle = rulesWithoutEffect(scenario, operations, (index) => source.at(['rules', index]))
    return { valid: true, name: scenario.name, problems: [], warnings: idle.map(remarkOf) }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { valid: false, name: null, problems: error.problems.map(remarkOf), warnings: [] }
  }
}
