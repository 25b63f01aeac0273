// wrong-address: calls to a path that there is not, mostly by a base URL that is not quite right.
import { type FindingDefinition, times } from './define.ts'

export const wrongAddress: FindingDefinition = {
  kind: 'wrong-address',
  // Others are tools that look whether somebody is there, or browsers that want an icon.
  find: ({ strays }) =>
    strays.flatMap(({ method, path, count, at, likely }) =>
      likely === null
        ? []
        : [
            {
              severity: method === 'GET' || method === 'HEAD' ? ('warning' as const) : ('error' as const),
              message: `${method} ${path} was called ${times(count)}, which is no path: did you mean ${likely}?`,
              calls: [],
              count,
              at,
              figures: { calls: count },
            },
          ],
    ),
}
