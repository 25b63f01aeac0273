// The shipped scenarios as the executable has them (scenarios/load.ts).
import { listAssets, readAsset } from '../lib/assets.ts'
import { parseScenario } from '../scenarios/load.ts'

declare global {
  // The types of TypeScript do not have it yet.
  interface JSON {
    rawJSON(text: string): unknown
  }
}

/** All of them as JSON, by path. */
export function scenariosAsJson(): string {
  const all = listAssets('scenarios').map((path) => {
    const { location, text: _, ...scenario } = parseScenario(path, new TextDecoder().decode(readAsset(path)))
    return [location, scenario]
  })
  // An open range ends at infinity, for which JSON has only a number that is too large.
  return JSON.stringify(Object.fromEntries(all), (_, value) =>
    value === Number.POSITIVE_INFINITY ? JSON.rawJSON('1e999') : value,
  )
}
