// Tools: functions that models may call, kept in the workspace.
import { z } from 'zod'
import { common, Key, Path, prefixedForm, Uuid } from './workspace.ts'

export const toolId = prefixedForm('tool')

const FunctionName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, { error: "must be 1 to 64 letters, digits, '_' and '-'" })
// Clients take no parameters without `properties` and `required`, so both are always there.
const Parameters = z
  .looseObject({
    type: z.literal('object').default('object'),
    properties: z.record(z.string(), z.unknown()).default({}),
    required: z.array(z.string()).default([]),
  })
  .describe('JSON Schema of the arguments.')
const ToolFunction = z.object({
  name: FunctionName,
  description: z.string().optional(),
  strict: z.boolean().optional(),
  parameters: Parameters.optional(),
})
const fields = {
  path: Path,
  key: Key.describe('Unique in the workspace.'),
  display_name: z.string().optional().describe('Shown instead of the key.'),
  description: z.string(),
  type: z.literal('function', { error: "must be 'function': the other types of tool are not emulated" }),
  function: ToolFunction,
}
/** What makes a tool. */
export const ToolBody = z.object({
  ...fields,
  path: fields.path.default('Default'),
  description: fields.description.default(''),
  type: fields.type.default('function'),
})
/** What changes one. */
export const ToolPatch = z.object(fields).partial()
/** A tool as it is answered. */
export const Tool = z.object({
  _id: toolId.schema,
  ...fields,
  status: z.literal('live'),
  project_id: Uuid,
  ...common,
})
