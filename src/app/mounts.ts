// Mounts groups of routes on routers, each group at the first request for one of its paths.
import type { Route, RouteGroup } from '../contract/core/route.ts'
import type { PageOptions } from '../docs/swagger.ts'
import { type RoutedApp, type RouteHandler, type Router, routerOf } from './router.ts'
import { pathRegex } from './unrouted.ts'

/** What takes the requests for the paths under some segments. */
export interface Mountable extends Pick<RouteGroup, 'under'> {
  routes(): readonly (Pick<Route, 'path' | 'public'> & { method: string })[]
  /** By method and path. */
  handlers(): readonly (readonly [string, RouteHandler])[]
  /** Swagger UI, if it is there. */
  page?: PageOptions
}

/** The groups under some segments, mounted. */
interface Mounted {
  router: Router
  isPublic(pathname: string): boolean
}

/** The first two segments of a path, and the first one. */
const SECTIONS = /^(\/[^/]*)(?:\/[^/]*)?/

/**
 * Finds what takes the requests for a path.
 * @param first searched before `others`, which are loaded for a path that none of these takes
 */
export function createMounts(
  first: readonly Mountable[],
  others: () => readonly Mountable[],
  refuse: RoutedApp['refuse'],
): (pathname: string) => Mounted | undefined {
  const mounted = new Map<string, Mounted>()
  const mount = (groups: readonly Mountable[]): Mounted => {
    const handlers = new Map(groups.flatMap((group) => group.handlers()))
    const open = groups.flatMap(({ routes }) => routes().filter((route) => route.public))
    const patterns = open.map(({ path }) => pathRegex(path))
    const router = routerOf({ handlers, refuse }, groups.find(({ page }) => page)?.page)
    return { router, isPublic: (pathname) => patterns.some((pattern) => pattern.test(pathname)) }
  }
  return (pathname) => {
    const sections = SECTIONS.exec(pathname) ?? []
    const known = sections.find((section) => mounted.has(section))
    if (known !== undefined) return mounted.get(known)
    for (const groups of [() => first, others])
      for (const section of sections) {
        const taking = groups().filter(({ under }) => under.includes(section))
        if (taking.length > 0) return mounted.getOrInsertComputed(section, () => mount(taking))
      }
    return undefined
  }
}
