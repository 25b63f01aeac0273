// Replaces tools that would leave this machine or run code: by a fixture, or by a result that is marked as generated.
import { satisfying } from '../../answers/schema-sample.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { ToolCall, ToolContext, ToolResult } from './define.ts'

/** Marks a generated result. */
const MADE_UP = {
  generated: true,
  note: 'This result is made up: nothing was called or run. A fixture in fixtures/agents.tools gives another.',
}

/** The reply of a fixture, or the result of `make`. */
export async function standIn(
  call: ToolCall,
  context: ToolContext,
  make: () => Record<string, unknown>,
): Promise<ToolResult> {
  return (await context.fixtures.answer(call, context)) ?? { result: { ...MADE_UP, ...make() } }
}

/** The same for a tool with an output schema, if it has one. */
export async function standInBySchema(
  call: ToolCall,
  context: ToolContext,
  { schema, make }: { schema: object | undefined; make: () => Record<string, unknown> },
): Promise<ToolResult> {
  if (!schema) return standIn(call, context, make)
  const reply = await context.fixtures.answer(call, context)
  if (reply) return reply
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
