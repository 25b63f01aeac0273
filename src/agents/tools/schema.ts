// JSON Schemas of tool arguments, and valid function names.
type JsonSchema = Record<string, unknown>

/**
 * The schema of arguments. All are required except the named ones.
 * @example
 * argumentsSchema({ query: textSchema('The question.'), note: textSchema('A note.') }, ['note']).required // => ['query']
 */
export function argumentsSchema(properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false }
}

/**
 * The schema of a text.
 * @example
 * textSchema('The question.') // => { type: 'string', description: 'The question.' }
 */
export const textSchema = (description: string): JsonSchema => ({ type: 'string', description })

/** The schema of one of several texts, or of any text if there are none. */
export const oneOfTexts = (description: string, values: readonly string[]): JsonSchema => ({
  ...textSchema(description),
  ...(values.length > 0 && { enum: [...new Set(values)] }),
})

/** The schema of any arguments. */
export const ANY_ARGUMENTS: JsonSchema = { type: 'object', properties: {}, required: [] }

/** Maximum length of a function name at providers. */
export const MAX_NAME_LENGTH = 64
/**
 * A valid function name: letters, digits, `_` and `-`, at most 64.
 * @example
 * functionName('get weather') // => 'get_weather'
 * functionName('') // => '_'
 */
export const functionName = (name: string): string =>
  name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, MAX_NAME_LENGTH) || '_'
