// The version, from the one place that states it.
import manifest from '../package.json' with { type: 'json' }

/** The version of this understudy. */
export const VERSION = manifest.version
