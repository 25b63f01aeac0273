// The version, from the one place that states it, and the commit that was built.
import manifest from '../package.json' with { type: 'json' }

/** Set by the build. */
declare const BUILT_FROM: { commit: string; modified: boolean } | undefined

/** The version of this understudy. */
export const VERSION = manifest.version

/** The commit of the build, and whether files had changed since it; null for source, and for a build without Git. */
export const BUILD: { commit: string; modified: boolean } | null =
  typeof BUILT_FROM === 'undefined' ? null : (BUILT_FROM ?? null)
