// understudy schema: the JSON Schema of a file format, for editors, or of a JSON report, for programs.
import { Argument, Command } from 'commander'
import { z } from 'zod'
import { fixtureSchema } from '../../backends/fixture/fixture-schema.ts'
import { CassetteDocument } from '../../cassettes/schema.ts'
import { Verification } from '../../contract/core/verification.ts'
import { fixtureSubjects } from '../../endpoints/index.ts'
import { SeedSchema } from '../../resources/seeds/seed-file.ts'
import { ScenarioFile } from '../../scenarios/schema.ts'
import type { CommandIo } from '../io.ts'
import { DriftJson, ExecJson, ExploreJson, RehearseJson } from '../print/report-schemas.ts'

const schemas: Record<string, () => object> = {
  fixture: fixtureFileSchema,
  seed: seedFileSchema,
  scenario: scenarioFileSchema,
  cassette: cassetteSchema,
  verdict: () => outputSchema('Understudy verdict of a session, as GET /_understudy/verify returns it', Verification),
  'exec-report': () => outputSchema('Understudy report of exec --json', ExecJson),
  'explore-report': () => outputSchema('Understudy report of explore --json', ExploreJson),
  'drift-report': () => outputSchema('Understudy report of drift --json', DriftJson),
  'rehearse-report': () => outputSchema('Understudy report of rehearse --json', RehearseJson),
}

/** `understudy schema`: prints the JSON Schema of a file format or a JSON report. */
export function schemaCommand({ stdout }: CommandIo): Command {
  return new Command('schema')
    .description('print the JSON Schema of a file format or a JSON report')
    .addArgument(new Argument('<KIND>', 'the file format or the report').choices(Object.keys(schemas)))
    .action((kind: string) => stdout.json(schemas[kind]?.(), 2))
}

/** A fixture file is one fixture or a list. Its valid replies depend on the operation. */
function fixtureFileSchema(): object {
  const bySchema = new Map(fixtureSubjects.map((subject) => [subject.script, subject]))
  const one = z.union([...bySchema.values()].map(fixtureSchema))
  return {
    title: 'Understudy fixture file, version 1',
    ...z.toJSONSchema(z.union([one, z.array(one)]), { io: 'input', unrepresentable: 'any' }),
  }
}

function seedFileSchema(): object {
  return {
    title: 'Understudy seed file, version 1',
    ...z.toJSONSchema(SeedSchema, { io: 'input', unrepresentable: 'any' }),
  }
}

function scenarioFileSchema(): object {
  return {
    title: 'Understudy scenario file, version 1',
    ...z.toJSONSchema(ScenarioFile, { io: 'input', unrepresentable: 'any' }),
  }
}

/** Each document of a cassette is validated alone. */
function cassetteSchema(): object {
  return {
    title: 'Understudy cassette, version 1: a header, then one document for each interaction',
    ...z.toJSONSchema(CassetteDocument, { io: 'input', unrepresentable: 'any' }),
  }
}

const outputSchema = (title: string, schema: z.ZodType): object => ({
  title,
  ...z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }),
})
