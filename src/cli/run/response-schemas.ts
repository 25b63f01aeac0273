// The schemas of responses, as drift compares them.
import { z } from 'zod'
import { AnthropicEvent, AnthropicMessage } from '../../compat/anthropic/response-schema.ts'
import type { ResponseSchemas } from '../../drift/known-fields.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { rememberingAll } from '../../lib/remember.ts'

const jsonSchema = (schema: z.ZodType): object => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })

/** The schemas of the API that a request called. */
export const schemasFor = rememberingAll((api: string): ResponseSchemas | undefined => {
  if (api === 'messages') return { whole: jsonSchema(AnthropicMessage), event: jsonSchema(AnthropicEvent) }
  const operation = operationNamed(api)
  if (!operation) return undefined
  return { whole: jsonSchema(operation.response), event: operation.chunk && jsonSchema(operation.chunk) }
})
