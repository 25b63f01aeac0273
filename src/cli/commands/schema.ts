// understudy schema: the JSON Schema of a file format, for editors, or of a JSON report, for programs.
import { Argument, Command } from 'commander'
import { lazy } from '../../lib/lazy.ts'
import type { CommandIo } from '../io.ts'

const schemas = lazy<typeof import('../print/json-schemas.ts')>(() => require('../print/json-schemas.ts'))

/** The file formats and reports with a schema. */
const KINDS: Record<keyof typeof import('../print/json-schemas.ts').jsonSchemas, true> = {
  ...{ fixture: true, seed: true, scenario: true, cassette: true, verdict: true },
  ...{ 'exec-report': true, 'explore-report': true, 'drift-report': true, 'rehearse-report': true },
}

/** `understudy schema`: prints the JSON Schema of a file format or a JSON report. */
export function schemaCommand({ stdout }: CommandIo): Command {
  return new Command('schema')
    .description('print the JSON Schema of a file format or a JSON report')
    .addArgument(new Argument('<KIND>', 'the file format or the report').choices(Object.keys(KINDS)))
    .action((kind: keyof typeof KINDS) => stdout.json(schemas().jsonSchemas[kind](), 2))
}
