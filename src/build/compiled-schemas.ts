// The outlines that the executable has: of what a start is given, and of the bodies of calls.
import { fixtureSchema } from '../backends/fixture/fixture-schema.ts'
import { fixtureSchemaName } from '../backends/fixture/read-fixture.ts'
import { SETTINGS, settingSchemaName, valueSchemas } from '../config/settings.ts'
import { fixtureSubjects, operationNamed, operationNames } from '../endpoints/index.ts'
import { compiledAsJson, compileSchema } from '../schema/compile.ts'
import { requestSchemaName } from '../schema/parse.ts'

/** Each as JSON, by its name. */
export function compiledSchemas(): Record<string, string> {
  const schemas = [
    ...operationNames()
      .map((name) => operationNamed(name))
      .filter((one) => one !== undefined)
      .map(({ name, request }) => [requestSchemaName(name), request] as const),
    ...fixtureSubjects.map((subject) => [fixtureSchemaName(subject), fixtureSchema(subject)] as const),
    ...Object.entries(SETTINGS).map(([key, { schema }]) => [settingSchemaName(key), schema(valueSchemas())] as const),
  ]
  return Object.fromEntries(schemas.map(([name, schema]) => [name, compiledAsJson(compileSchema(schema))]))
}
