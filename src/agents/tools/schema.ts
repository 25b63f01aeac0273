// JSON Schemas of the arguments of tools, and names that providers take.
type JsonSchema = Record<string, unknown>

/**
 * The schema of arguments, all of which must be given unless they are named as optional.
 * @example
 * argumentsSchema({ query: textSchema('The question.'), note: textSchema('A note.') }, ['note']).required // => ['query']
 */
export function argumentsSchema(properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false }
}

/**
 * A text.
 * @example
 * textSchema('The question.') // => { type: 'string', description: 'The question.' }
 */
export const textSchema = (description: string): JsonSchema => ({ type: 'string', description })

/** One of some texts, or any text while there are none. */
export const oneOfTexts = (description: string, values: readonly string[]): JsonSchema => ({
  ...textSchema(description),
  ...(values.length > 0 && { enum: [...new Set(values)] }),
})

/** Arguments of any kind. */
export const ANY_ARGUMENTS: JsonSchema = { type: 'object', properties: {}, required: [] }

/** Longest name of a function that providers take. */
export const MAX_NAME_LENGTH = 64
/**
 * A name as providers take it: letters, digits, `_` and `-`, at most 64.
 * @example
 * functionName('get weather') // => 'get_weather'
 * functionName('') // => '_'
 */
export const functionName = (name: string): string =>
  name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, MAX_NAME_LENGTH) || '_'
