// What `understudy --version --json` prints: what a bug report needs.
import { FORMATS } from '../../contract/core/formats.ts'
import { sqliteVersion } from '../../db/open.ts'
import { isCompiled } from '../../lib/assets.ts'
import { BUILD, VERSION } from '../../version.ts'

/** Version, commit, build and versions of the formats. */
export const versionJson = () => ({
  version: VERSION,
  commit: BUILD?.commit ?? null,
  build: {
    compiled: isCompiled,
    modified: BUILD?.modified ?? null,
    platform: `${process.platform}-${process.arch}`,
    bun: Bun.version,
    sqlite: sqliteVersion(),
  },
  formats: FORMATS,
})
