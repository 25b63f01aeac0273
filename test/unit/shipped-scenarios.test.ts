import { expect, test } from 'bun:test'
import { scenariosAsJson } from '../../src/build/scenarios-json.ts'
import { loadShipped } from '../../src/scenarios/load.ts'

test('shipped scenarios: are the same after the build has stored them as JSON', () => {
  const stored = Object.entries(JSON.parse(scenariosAsJson()) as Record<string, { name: string }>)
  expect(stored.length).toBeGreaterThan(30)
  for (const [location, scenario] of stored)
    expect(loadShipped(scenario.name)).toEqual({ ...scenario, location, text: expect.any(String) } as never)
})
