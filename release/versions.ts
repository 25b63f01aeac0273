// The names that a version has in each of the places where it is published.

/** Whether a version comes before the final one (Semantic Versioning 2.0.0, section 9), such as 1.0.0-rc.1. */
export const isPrerelease = (version: string): boolean => /^\d+\.\d+\.\d+-/.test(version)

/** Whether no final version of the same major version comes before it: names of the major version lead to it until there is one. */
const isFirstOfMajor = (version: string) => /^\d+\.0\.0-/.test(version)

/** Whether those who name no version get this one: every final version and, before there is any, the candidates for 1.0.0. */
const isDefault = (version: string) => !isPrerelease(version) || version.startsWith('1.0.0-')

/**
 * The tag under which npm offers a version: `next` is installed only by those who name it.
 *
 * @example
 * npmTag('1.2.0-rc.1') // => 'next'
 */
export const npmTag = (version: string): string => (isDefault(version) ? 'latest' : 'next')

/**
 * The tags of the container image.
 *
 * @example
 * imageTags('1.2.3') // => ['1.2.3', '1.2', '1', 'latest']
 * imageTags('2.0.0-rc.1') // => ['2.0.0-rc.1', '2']
 */
export function imageTags(version: string): string[] {
  const [major = '', minor] = version.split('.')
  const isFinal = !isPrerelease(version)
  return [
    version,
    ...(isFinal ? [`${major}.${minor}`] : []),
    ...(isFinal || isFirstOfMajor(version) ? [major] : []),
    ...(isDefault(version) ? ['latest'] : []),
  ]
}

/**
 * The Git tag by which workflows name the action: its major version. Null where it does not move.
 *
 * @example
 * actionTag('1.2.3') // => 'v1'
 * actionTag('1.2.0-rc.1') // => null
 */
export const actionTag = (version: string): string | null =>
  isPrerelease(version) && !isFirstOfMajor(version) ? null : `v${version.slice(0, version.indexOf('.'))}`
