// The outlines that the executable has: of what a start is given, and of the bodies of calls.
import { fixtureSchema } from '../backends/fixture/fixture-schema.ts'
import { fixtureOutline } from '../backends/fixture/read-fixture.ts'
import { SETTINGS, settingOutline, valueSchemas } from '../config/settings.ts'
import { fixtureSubjects, operationNamed, operationNames } from '../endpoints/index.ts'
import { outlineAsJson, outlineOf } from '../schema/compile.ts'
import { requestOutline } from '../schema/parse.ts'

/** Each as JSON, by its name. */
export function outlines(): Record<string, string> {
  const schemas = [
    ...operationNames()
      .map((name) => operationNamed(name))
      .filter((one) => one !== undefined)
      .map(({ name, request }) => [requestOutline(name), request] as const),
    ...fixtureSubjects.map((subject) => [fixtureOutline(subject), fixtureSchema(subject)] as const),
    ...Object.entries(SETTINGS).map(([key, { schema }]) => [settingOutline(key), schema(valueSchemas())] as const),
  ]
  return Object.fromEntries(schemas.map(([name, schema]) => [name, outlineAsJson(outlineOf(schema))]))
}
