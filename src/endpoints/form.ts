// Reads forms: fields by name, each converted to the type in the operation's schema.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { onceFor } from '../lib/once.ts'
import { halfCharacterError } from '../schema/validation.ts'

type Fields = Record<string, string | File>
/** How a form is read: the schema of its fields, and the status for invalid ones. */
export interface FormOf {
  request: z.ZodType
  invalidStatus?: number
}

/** The fields of a form by name; of repeated names, the last one. Throws when the body is not a form. */
export async function readFields(bytes: Uint8Array, type: string, { request }: FormOf): Promise<Fields> {
  const form = await new Response(bytes.slice(), { headers: { 'content-type': type } }).formData()
  const types = typesOf(request)
  // Browsers and generated clients send a JSON part with a file name, which turns it into a file.
  const read = ([name, value]: [string, string | File]) =>
    typeof value !== 'string' && types.has(name) && !types.get(name)?.includes(FILE) ? value.text() : value
  const entries = [...form.entries()] as [string, string | File][]
  return Object.fromEntries(await Promise.all(entries.map(async (entry) => [entry[0], await read(entry)])))
}

/** The fields of a form as JSON for the trace; of a file its name, type and size. */
export const describeFields = (fields: Fields): string =>
  JSON.stringify(fields, (_, value) =>
    value instanceof File ? { name: value.name, type: value.type, size: value.size } : value,
  )

/**
 * The fields converted to the types of the schema: texts stay texts, other fields are parsed as JSON (`true`, `0.2`, an
 * object).
 * @throws ApiError for an object or a list that is not JSON. Other errors are left to the schema.
 */
export function typedFields(fields: object, { request, invalidStatus = 400 }: FormOf): Record<string, unknown> {
  const types = typesOf(request)
  const structureOf = (name: string) => types.get(name)?.find((type) => type === 'object' || type === 'array')
  const rejection = (name: string, problem: string) =>
    new ApiError(
      invalidStatus,
      'invalid_json',
      `'${name}' must be one form field with a JSON ${structureOf(name)}; ${problem}`,
      { param: name },
    )
  const typedEntries = Object.entries(fields).map(([name, value]) => {
    const [whole = ''] = name.split('[', 1)
    if (whole !== name && structureOf(whole)) throw rejection(whole, `got a field '${name}'`)
    const allowedTypes = types.get(name)
    if (typeof value !== 'string' || !allowedTypes || allowedTypes.includes('string') || allowedTypes.includes(FILE))
      return [name, value]
    try {
      return [name, JSON.parse(value)]
    } catch (error) {
      if (!structureOf(name)) return [name, value]
      throw rejection(name, `this is not JSON: ${(error as Error).message.replace(/^JSON Parse error: /, '')}`)
    }
  })
  const result = Object.fromEntries(typedEntries)
  // Only JSON can contain half of a surrogate pair: the form itself is UTF-8.
  const half = halfCharacterError(result, invalidStatus)
  if (half) throw half
  return result
}

const FILE = 'file'
interface Property {
  type?: string | string[]
  format?: string
  anyOf?: Property[]
}

/** The JSON types that a schema allows for each field, `FILE` for a file. */
const typesOf = onceFor((schema: z.ZodType): Map<string, string[]> => {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const allowed = ({ type = [], format, anyOf = [] }: Property): string[] => [
    ...(format === 'binary' ? [FILE] : [type].flat()),
    ...anyOf.flatMap(allowed),
  ]
  return new Map(Object.entries(properties).map(([name, property]) => [name, allowed(property as Property)]))
})
