// Forms: their fields by name, and each text read as what the operation's schema wants.
import { z } from 'zod'
import { ApiError } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'

/** The fields of a form by name, the last one of a name winning; throws when the body is no form. */
export async function readFields(bytes: Uint8Array, type: string): Promise<Record<string, string | File>> {
  const form = await new Response(bytes.slice(), { headers: { 'content-type': type } }).formData()
  return Object.fromEntries([...form.entries()] as [string, string | File][])
}

/** A form's fields as the trace keeps them: of a file its name, type and size. */
export const describeFields = (fields: Record<string, string | File>): string =>
  JSON.stringify(fields, (_, value) =>
    value instanceof File ? { name: value.name, type: value.type, size: value.size } : value,
  )

/**
 * The fields as the schema of `operation` wants them: a text where it wants one, and the JSON in the text elsewhere (`true`,
 * `0.2`, an object). Refuses what should be an object or a list and is no JSON; other misfits are left to the schema.
 */
export function typedFields(fields: object, { request, invalidStatus = 400 }: Operation): Record<string, unknown> {
  const wanted = typesOf(request)
  const typed = Object.entries(fields).map(([name, value]) => {
    const types = wanted.get(name)
    if (typeof value !== 'string' || !types || types.includes('string')) return [name, value]
    try {
      return [name, JSON.parse(value)]
    } catch (error) {
      const structured = types.find((type) => type === 'object' || type === 'array')
      if (!structured) return [name, value]
      const reason = (error as Error).message.replace(/^JSON Parse error: /, '')
      const message = `'${name}' must be a JSON ${structured} in a form field; this is no JSON: ${reason}`
      throw new ApiError(invalidStatus, 'invalid_json', message, { param: name })
    }
  })
  return Object.fromEntries(typed)
}

interface Property {
  type?: string
  anyOf?: Property[]
}

const known = new WeakMap<z.ZodType, Map<string, string[]>>()
/** The JSON types that a schema allows for each of its fields. */
function typesOf(schema: z.ZodType): Map<string, string[]> {
  let types = known.get(schema)
  if (!types) {
    const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    const allowed = ({ type, anyOf = [] }: Property): string[] => [...(type ? [type] : []), ...anyOf.flatMap(allowed)]
    types = new Map(Object.entries(properties).map(([name, property]) => [name, allowed(property as Property)]))
    known.set(schema, types)
  }
  return types
}
