// Fixtures for the tools of agents that would leave this machine: which calls they match, and their replies.
import { z } from 'zod'
import { isTextMatch } from '../../lib/match.ts'
import { Duration } from './duration.ts'
import { type FixtureSubject, TOOL_CALLS } from './fixture-subject.ts'
import { textMatchSchema } from './text-match-schema.ts'

const ExpectedArgument = z.unknown().superRefine((pattern, context) => {
  if (!isTextMatch(pattern)) return
  for (const { path, message } of textMatchSchema.safeParse(pattern).error?.issues ?? [])
    context.addIssue({ code: 'custom', path, message })
})

/** Conditions on a tool call; all given ones must hold. */
export const ToolMatch = z.strictObject({
  operation: z
    .union([z.string(), z.array(z.string()).min(1)])
    .optional()
    .describe('`agents.tools`. Default: the folder name.'),
  tool: z
    .string()
    .optional()
    .describe(
      "The function's name as models are offered it, the tool's key, or its type; `*` stands for any characters.",
    ),
  agent: z.string().optional().describe('Key of the calling agent. `*` matches any characters.'),
  arguments: z
    .record(z.string(), ExpectedArgument)
    .optional()
    .describe('Values by path in the arguments, such as `order.number`, or how a text there is compared.'),
  iteration: z
    .union([
      z.int().min(1),
      z.strictObject({ min: z.int().optional().describe('Minimum.'), max: z.int().optional().describe('Maximum.') }),
    ])
    .optional()
    .describe('The iteration of the turn, from 1, or a range.'),
})
export type ToolMatch = z.infer<typeof ToolMatch>

const timing = z
  .strictObject({ duration: Duration.describe('How long the call takes: 300ms, 2s, or a number of milliseconds.') })
  .optional()
  .describe('How fast the reply comes.')
const ToolScript = z.strictObject({
  result: z
    .json()
    .describe(
      'What the model is told; `{{captures.name}}`, `{{call.tool}}` and `{{call.arguments.city}}` are filled in.',
    ),
  timing,
})
const ToolErrorScript = z.strictObject({
  error: z.string().min(1).describe('Why the call fails, as the model reads it.'),
  timing,
})

/** The `reply` of a tool's fixture. */
export type ToolScript = z.infer<typeof ToolScript> | z.infer<typeof ToolErrorScript>

/** Tool calls as a fixture subject. */
export const toolCalls = {
  name: TOOL_CALLS,
  match: ToolMatch,
  script: ToolScript,
  errorScript: ToolErrorScript,
  templateNames: [],
} satisfies FixtureSubject
