// The outlines that the build has made of schemas; there are none where the program runs from its source.
import { isCompiled, readAsset } from '../lib/assets.ts'
import type { CompiledSchema } from './compiled-schema.ts'

/** Where the build puts the outline of a name: each by itself, since a start needs but a few. */
export const compiledSchemaFile = (name: string): string => `dist/outlines/${name}.json`

const decoder = new TextDecoder()

/** The outline of a name. */
export const embeddedSchema = (name: string): CompiledSchema | undefined =>
  isCompiled ? JSON.parse(decoder.decode(readAsset(compiledSchemaFile(name)))) : undefined
