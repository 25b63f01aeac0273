// The names that a version has in each of the places where it is published.

/** Whether a version comes before the final one (Semantic Versioning 2.0.0, section 9), such as 1.0.0-rc.1. */
export const isPrerelease = (version: string): boolean => /^\d+\.\d+\.\d+-/.test(version)

/**
 * The tag under which npm offers a version: a prerelease is installed only by those who ask for it.
 *
 * @example
 * npmTag('1.0.0-rc.1') // => 'next'
 */
export const npmTag = (version: string): string => (isPrerelease(version) ? 'next' : 'latest')

/**
 * The tags of the container image: the version, and for a final one also those that move.
 *
 * @example
 * imageTags('1.2.3') // => ['1.2.3', '1.2', '1', 'latest']
 * imageTags('1.0.0-rc.1') // => ['1.0.0-rc.1']
 */
export function imageTags(version: string): string[] {
  if (isPrerelease(version)) return [version]
  const [major, minor] = version.split('.')
  return [version, `${major}.${minor}`, `${major}`, 'latest']
}

/**
 * The Git tag by which workflows name the action: its major version. A prerelease does not move it.
 *
 * @example
 * actionTag('1.2.3') // => 'v1'
 * actionTag('1.0.0-rc.1') // => null
 */
export const actionTag = (version: string): string | null =>
  isPrerelease(version) ? null : `v${version.slice(0, version.indexOf('.'))}`
