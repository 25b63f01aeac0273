// Tools of a model response on the wire, the tool choice, and which of them the caller runs itself.
import { z } from 'zod'
import { describedLoose } from '../core/described.ts'
import { HOSTED_TOOLS } from './hosted-tools.ts'

/** An optional string that may also be null. */
const nullishText = z.string().nullish()
/** A tool or function name: 1 to 64 letters, digits, `_` and `-`. */
export const Identifier = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/)
const HostedTool = z.enum(HOSTED_TOOLS)
/** A tool that a call offers. */
export const ResponsesTool = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function').describe('Type of the tool. Provider tools are accepted, but never called.'),
    name: Identifier.describe('At most 64 letters, digits, `_`, and `-`.'),
    description: nullishText,
    parameters: z.looseObject({}).nullish().describe('JSON Schema of the arguments.'),
    strict: z.boolean().nullish(),
  }),
  describedLoose('A tool with a text input instead of arguments.', {
    type: z.literal('custom').describe('Type of the tool. Provider tools are accepted, but never called.'),
    name: Identifier.describe('The name that the model uses to call it: at most 64 letters, digits, `_`, and `-`.'),
    description: nullishText,
    format: z
      .discriminatedUnion('type', [
        z.looseObject({ type: z.literal('text') }),
        z.looseObject({
          type: z.literal('grammar'),
          syntax: z.enum(['lark', 'regex']).describe('The language of the grammar.'),
          definition: z.string().describe('The grammar itself.'),
        }),
      ])
      .nullable()
      .describe('Format of the text. Default: free text.')
      .optional(),
  }),
  describedLoose('Accepted and echoed. Hosted tools are never called.', {
    type: HostedTool.describe('Type of the tool. Provider tools are accepted, but never called.'),
  }),
])
const namedTools = (tool: string) => {
  const named = <Type extends string>(type: Type) =>
    z.looseObject({
      type: z.literal(type).describe(`Type of the ${tool}.`),
      name: z.string().describe(`Name of the ${tool}.`),
    })
  const hosted = z.looseObject({ type: HostedTool.describe(`Type of the ${tool}.`) })
  return [named('function'), named('custom'), hosted] as const
}
/** The tool choice. */
export const ResponsesToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.discriminatedUnion('type', [
    ...namedTools('tool that must be called'),
    z.looseObject({
      type: z.literal('allowed_tools').describe('Type of the tool that must be called.'),
      mode: z.enum(['auto', 'required']).describe('Whether the model must call one of them.'),
      tools: z.array(z.discriminatedUnion('type', namedTools('tool'))).describe('The tools that the model can call.'),
    }),
  ]),
])

/** A function or a custom tool that a call offers. */
type CalledTool = Extract<z.infer<typeof ResponsesTool>, { type: 'function' | 'custom' }>
/** The tools that the caller runs. */
export const calledTools = (tools: readonly z.infer<typeof ResponsesTool>[] | null | undefined): CalledTool[] =>
  (tools ?? []).filter((tool): tool is CalledTool => tool.type === 'function' || tool.type === 'custom')

/** The names in a choice, undefined for those of tools that run elsewhere; nothing if it names none. */
export function chosenNames(
  choice: z.infer<typeof ResponsesToolChoice> | null | undefined,
): (string | undefined)[] | undefined {
  if (typeof choice !== 'object' || choice === null) return undefined
  const nameOf = (one: { type: string }) =>
    one.type === 'function' || one.type === 'custom' ? (one as unknown as { name: string }).name : undefined
  return choice.type === 'allowed_tools' ? (choice.tools as { type: string }[]).map(nameOf) : [nameOf(choice)]
}
