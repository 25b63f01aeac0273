// The YAML library, which is large: loaded when the first file is read.
import { lazy } from './lazy.ts'

/** The library's exports. */
export type Yaml = typeof import('./yaml-library.ts')

/** Loads the library. */
export const yaml = lazy<typeof import('./yaml-library.ts')>(() => require('./yaml-library.ts'))
