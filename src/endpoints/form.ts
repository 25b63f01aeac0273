// Forms: their fields by name, and each text read as what the operation's schema wants.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { onceFor } from '../lib/once.ts'
import { halfCharacterIn, halfCharacterProblem } from '../lib/well-formed.ts'
import { formatPath } from '../schema/validation.ts'

type Fields = Record<string, string | File>
/** What a form is read as: the schema of its fields, and the status of what does not fit. */
export interface FormOf {
  request: z.ZodType
  invalidStatus?: number
}

/** The fields of a form by name, the last one of a name winning; throws when the body is no form. */
export async function readFields(bytes: Uint8Array, type: string, { request }: FormOf): Promise<Fields> {
  const form = await new Response(bytes.slice(), { headers: { 'content-type': type } }).formData()
  const wanted = typesOf(request)
  // Browsers and generated clients give a part of JSON a file name, which makes a file of it.
  const read = ([name, value]: [string, string | File]) =>
    typeof value !== 'string' && wanted.has(name) && !wanted.get(name)?.includes(FILE) ? value.text() : value
  const entries = [...form.entries()] as [string, string | File][]
  return Object.fromEntries(await Promise.all(entries.map(async (entry) => [entry[0], await read(entry)])))
}

/** A form's fields as the trace keeps them: of a file its name, type and size. */
export const describeFields = (fields: Fields): string =>
  JSON.stringify(fields, (_, value) =>
    value instanceof File ? { name: value.name, type: value.type, size: value.size } : value,
  )

/**
 * The fields as the schema wants them: a text where it wants one, and the JSON in the text elsewhere (`true`,
 * `0.2`, an object). Refuses what should be an object or a list and is no JSON; other misfits are left to the schema.
 * @throws ApiError with the status of an invalid body
 */
export function typedFields(fields: object, { request, invalidStatus = 400 }: FormOf): Record<string, unknown> {
  const wanted = typesOf(request)
  const structureOf = (name: string) => wanted.get(name)?.find((type) => type === 'object' || type === 'array')
  const refused = (name: string, problem: string) =>
    new ApiError(
      invalidStatus,
      'invalid_json',
      `'${name}' must be one form field with a JSON ${structureOf(name)}; ${problem}`,
      { param: name },
    )
  const typed = Object.entries(fields).map(([name, value]) => {
    const [whole = ''] = name.split('[', 1)
    if (whole !== name && structureOf(whole)) throw refused(whole, `got a field '${name}'`)
    const types = wanted.get(name)
    if (typeof value !== 'string' || !types || types.includes('string') || types.includes(FILE)) return [name, value]
    try {
      return [name, JSON.parse(value)]
    } catch (error) {
      if (!structureOf(name)) return [name, value]
      throw refused(name, `this is not JSON: ${(error as Error).message.replace(/^JSON Parse error: /, '')}`)
    }
  })
  const result = Object.fromEntries(typed)
  // Only JSON in a field can hold half of a character: the field itself is UTF-8.
  const half = halfCharacterIn(result)
  if (!half) return result
  const param = formatPath(half.path)
  throw new ApiError(invalidStatus, 'invalid_text', `'${param}' ${halfCharacterProblem(half.half)}`, { param })
}

const FILE = 'file'
interface Property {
  type?: string | string[]
  format?: string
  anyOf?: Property[]
}

/** The JSON types that a schema allows for each of its fields, `FILE` for a file. */
const typesOf = onceFor((schema: z.ZodType): Map<string, string[]> => {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const allowed = ({ type = [], format, anyOf = [] }: Property): string[] => [
    ...(format === 'binary' ? [FILE] : [type].flat()),
    ...anyOf.flatMap(allowed),
  ]
  return new Map(Object.entries(properties).map(([name, property]) => [name, allowed(property as Property)]))
})
