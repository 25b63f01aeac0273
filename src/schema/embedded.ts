// The compiled schemas of the build; there are none if the program runs from source.
import { isCompiled, readAsset } from '../lib/assets.ts'
import type { CompiledSchema } from './compiled-schema.ts'

/** The file of a compiled schema: one each, since a start needs only a few. */
export const compiledSchemaFile = (name: string): string => `dist/outlines/${name}.json`

const decoder = new TextDecoder()

/** The compiled schema with a name. */
export const embeddedSchema = (name: string): CompiledSchema | undefined =>
  isCompiled ? JSON.parse(decoder.decode(readAsset(compiledSchemaFile(name)))) : undefined
