// The documentation site, for the address where it is published.
import { join } from 'node:path'
import { generateSite } from '../src/build/site.ts'
import { FOLDERS, type Release } from './context.ts'

/**
 * The path that the site is served at: that of the homepage, or, where that is the repository, the path of its GitHub Pages.
 *
 * @example
 * sitePath('https://github.com/example/understudy') // => '/understudy/'
 * sitePath('https://understudy.example') // => '/'
 */
export function sitePath(homepage: string): string {
  const { hostname, pathname } = new URL(homepage)
  if (hostname === 'github.com') return `/${pathname.split('/').at(-1)}/`
  return pathname.endsWith('/') ? pathname : `${pathname}/`
}

/** Builds the site. */
export async function writeSite(release: Release): Promise<void> {
  await generateSite(join(release.out, FOLDERS.site), sitePath(release.names.homepage))
}
