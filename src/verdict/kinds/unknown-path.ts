// unknown-path: calls to a path that does not exist, mostly because of a wrong base URL.
import { type FindingDefinition, times } from './define.ts'

/** What a client has created before it reads it, such as a response in the background. */
const OF_RESOURCE = /^(?:\/s\/[^/]+)?\/(?:v1|v2\/router)\/[^/]+\/[^/]/

/** Reports calls to unknown paths, with the path that was probably intended. */
export const wrongAddress: FindingDefinition = {
  kind: 'unknown-path',
  find: ({ unknownPaths }) =>
    unknownPaths.flatMap(({ method, path, count, at, suggestion }) => {
      const isRead = method === 'GET' || method === 'HEAD'
      // Probes of tools, and browsers that request an icon.
      if (isRead && suggestion === null && !OF_RESOURCE.test(path)) return []
      const hint = suggestion === null ? '' : `: did you mean ${suggestion}?`
      return [
        {
          severity: isRead || suggestion === null ? ('warning' as const) : ('error' as const),
          message: `${method} ${path} was requested ${times(count)}, but this server has no such path${hint}`,
          calls: [],
          count,
          at,
          figures: { calls: count },
        },
      ]
    }),
}
