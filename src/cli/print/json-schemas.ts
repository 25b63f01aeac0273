// The JSON Schemas of file formats, for editors, and of JSON reports, for programs.
import { z } from 'zod'
import { fixtureSchema } from '../../backends/fixture/fixture-schema.ts'
import { CassetteDocument } from '../../cassettes/schema.ts'
import { Verification } from '../../contract/core/verification.ts'
import { fixtureSubjects } from '../../endpoints/index.ts'
import { SeedSchema } from '../../resources/seeds/seed-file.ts'
import { ScenarioFile } from '../../scenarios/schema.ts'
import { DriftJson, ExecJson, ExploreJson, RehearseJson } from './report-schemas.ts'

const files = (title: string, schema: z.ZodType) => () => schemaOf(`Understudy ${title}`, schema, 'input')
const reports = (title: string, schema: z.ZodType) => () => schemaOf(`Understudy ${title}`, schema, 'output')
/** Each by the name of its file format or report. */
export const jsonSchemas = {
  fixture: () => schemaOf('Understudy fixture file, version 1', fixtureFile(), 'input'),
  seed: files('seed file, version 1', SeedSchema),
  scenario: files('scenario file, version 1', ScenarioFile),
  // Each document of a cassette is validated alone.
  cassette: files('cassette, version 1: a header, then one document for each interaction', CassetteDocument),
  verdict: reports('verdict of a session, as GET /_understudy/verify returns it', Verification),
  'exec-report': reports('report of exec --json', ExecJson),
  'explore-report': reports('report of explore --json', ExploreJson),
  'drift-report': reports('report of drift --json', DriftJson),
  'rehearse-report': reports('report of rehearse --json', RehearseJson),
}

/** A fixture file is one fixture or a list. Its valid replies depend on the operation. */
function fixtureFile(): z.ZodType {
  const bySchema = new Map(fixtureSubjects.map((subject) => [subject.script, subject]))
  const one = z.union([...bySchema.values()].map(fixtureSchema))
  return z.union([one, z.array(one)])
}

/** The JSON Schema of what is read from files, or of what is printed. */
const schemaOf = (title: string, schema: z.ZodType, io: 'input' | 'output'): object => ({
  title,
  ...z.toJSONSchema(schema, { io, unrepresentable: 'any' }),
})
