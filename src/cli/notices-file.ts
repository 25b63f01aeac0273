// The licenses of everything inside the executable, as the build embeds them.
import { gunzipSync, gzipSync } from 'node:zlib'
import { isCompiled, readAsset } from '../lib/assets.ts'
import { ServerError } from './errors.ts'

/** The notices of the build. */
export const NOTICES_FILE = 'dist/notices.json.gz'

/** The license of one thing inside the executable. */
export interface Notice {
  /** Name of a package, a program or a library. */
  name: string
  /** Null where the version is that of the package around it. */
  version: string | null
  /** SPDX expression where there is one. */
  license: string
  /** Copyright and terms. */
  text: string
}

/** The file of notices. */
export const packNotices = (notices: readonly Notice[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(gzipSync(JSON.stringify(notices), { level: 9 }))

/**
 * The notices of this build.
 *
 * @throws ServerError where the program runs from source: what it contains is decided by the build
 */
export function readNotices(): Notice[] {
  if (!isCompiled)
    throw new ServerError('the list of licenses is made by the build: run npm run build, then dist/understudy')
  return JSON.parse(gunzipSync(readAsset(NOTICES_FILE)).toString())
}
