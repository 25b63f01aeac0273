// unknown-path: calls to a path that there is not, mostly by a base URL that is not quite right.
import { type FindingDefinition, times } from './define.ts'

/** Reports calls to unknown paths, with the path that was probably intended. */
export const wrongAddress: FindingDefinition = {
  kind: 'unknown-path',
  find: ({ strays }) =>
    strays.flatMap(({ method, path, count, at, suggestion: likely }) => {
      const looks = method === 'GET' || method === 'HEAD'
      // Tools that look whether somebody is there, and browsers that want an icon.
      if (looks && likely === null) return []
      const meant = likely === null ? '' : `: did you mean ${likely}?`
      return [
        {
          severity: looks || likely === null ? ('warning' as const) : ('error' as const),
          message: `${method} ${path} was requested ${times(count)}, but this server has no such path${meant}`,
          calls: [],
          count,
          at,
          figures: { calls: count },
        },
      ]
    }),
}
