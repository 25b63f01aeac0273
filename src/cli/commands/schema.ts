// understudy schema: the JSON Schema of a file format, for editors, or of a JSON report, for programs.
import { Argument, Command } from 'commander'
import { lazy } from '../../lib/lazy.ts'
import type { CommandIo } from '../io.ts'
import { SCHEMA_KINDS, type SchemaKind } from '../print/schema-kinds.ts'

const schemas = lazy<typeof import('../print/json-schemas.ts')>(() => require('../print/json-schemas.ts'))

/** `understudy schema`: prints the JSON Schema of a file format or a JSON report. */
export function schemaCommand({ stdout }: CommandIo): Command {
  return new Command('schema')
    .description('print the JSON Schema of a file format or a JSON report')
    .addArgument(new Argument('<KIND>', 'the file format or the report').choices(SCHEMA_KINDS))
    .action((kind: SchemaKind) => stdout.json(schemas().jsonSchemas[kind](), 2))
}
