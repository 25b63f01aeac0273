// The YAML library, which is large: loaded when the first file is read.

/** The library's exports. */
export type Yaml = typeof import('yaml')

/** Loads the library. */
export const yaml = (): Yaml => require('yaml')
