// Applications that record and replay a provider of the test.
import { readForwarding } from '../../src/config/providers.ts'
import type { Config } from '../../src/config.ts'
import { type CassetteReport, NO_CASSETTES } from '../../src/contract/core/cassette-report.ts'
import type { Replacements } from '../../src/deps.ts'
import { createTestApp, type TestApp } from './app.ts'
import { at, type ProviderEntry } from './forward.ts'

/** An application with cassettes, on the real clock. */
export interface CassetteApp extends TestApp {
  /** Completes what is recorded, and closes it. */
  finish(): Promise<CassetteReport>
  report(): CassetteReport
}

/** An application that forwards the calls of these providers to a URL, or replays them. */
export function cassetteApp(
  url: string,
  settings: Partial<Config>,
  { providers = ['openai', 'anthropic'], entry = {}, instead }: CassetteAppOptions = {},
): CassetteApp {
  const { record, replay, on_miss: onMiss = 'error' } = settings
  const value = Object.fromEntries(providers.map((name) => [name, at(url, entry)]))
  const section = { value, locationOf: () => '' }
  const isOffline = replay !== undefined && record === undefined && onMiss === 'error'
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {}, isOffline })
  const app = createTestApp({ clock: 'real', skip_latency: false, forwarding, ...settings }, undefined, instead)
  const report = () => app.understudy.cassettes?.report() ?? NO_CASSETTES
  return {
    ...app,
    report,
    async finish() {
      await app.understudy.cassettes?.finish()
      const last = report()
      app.close()
      return last
    },
  }
}

interface CassetteAppOptions {
  providers?: readonly string[]
  entry?: ProviderEntry
  instead?: Replacements
}
