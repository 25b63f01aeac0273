// Stands in for tools that would leave this machine or run code: a fixture answers, or a result that says it is made up.
import { satisfying } from '../../answers/schema-sample.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { ToolCall, ToolContext, ToolResult } from './define.ts'

/** Marks a result that no fixture gave. */
const MADE_UP = {
  generated: true,
  note: 'This result is made up: nothing was called or run. A fixture in fixtures/agents.tools gives another.',
}

/** What a fixture says to a call, or what `make` does. */
export async function standIn(
  call: ToolCall,
  context: ToolContext,
  make: () => Record<string, unknown>,
): Promise<ToolResult> {
  return (await context.fixtures.answer(call, context)) ?? { result: { ...MADE_UP, ...make() } }
}

/** The same for a tool whose `schema` says what its results are like, if it has one. */
export async function standInBySchema(
  call: ToolCall,
  context: ToolContext,
  { schema, make }: { schema: object | undefined; make: () => Record<string, unknown> },
): Promise<ToolResult> {
  if (!schema) return standIn(call, context, make)
  const given = await context.fixtures.answer(call, context)
  if (given) return given
  try {
    const result = await context.session.clock.work(
      satisfying(schema, 'output_schema', { signal: context.signal, jobLimits: context.session.jobLimits }),
    )
    return { result: { ...MADE_UP, result } }
  } catch (error) {
    if (error instanceof ApiError) return { error: error.message }
    throw error
  }
}
