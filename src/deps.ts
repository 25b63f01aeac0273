// The composition root: from the configuration to everything that answers calls.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { callerOf } from './access.ts'
import { type App, createApp } from './app.ts'
import { fixtureBackend } from './backends/fixture/backend.ts'
import { embeddedFixtures, readFixtures } from './backends/fixture/load.ts'
import { forwardBackend } from './backends/forward/backend.ts'
import { network } from './backends/forward/transport.ts'
import { describeForwarding } from './config/providers.ts'
import type { Config } from './config.ts'
import type { Backend } from './contract/backend.ts'
import { operations } from './endpoints/index.ts'
import { addProviders } from './providers/catalogue.ts'
import { peopleOf } from './resources/people.ts'
import { knowledgeOf } from './resources/search.ts'
import { createSeeder } from './resources/seed.ts'
import { readSeed, type SeedFile, shippedSeed } from './resources/seed-file.ts'
import { loadScenario } from './scenarios/load.ts'
import { createRuns } from './scenarios/runs.ts'
import { createSessions, type Sessions } from './sessions/sessions.ts'
import { VERSION } from './version.ts'

/** A running program, less its listener. */
export interface Understudy {
  app: App
  sessions: Sessions
  fixtures: number
  /** A line for each fixture that can never answer. */
  warnings: readonly string[]
  mode: 'fixture' | 'forward'
  /** The mode in one line: whether real calls are made, and to whom. */
  about: string
}

/**
 * Builds the program; throws `FileError` or `DatabaseError` when a file cannot be used.
 * @param instead answers attempts in place of the backend that the configuration names
 */
export function createUnderstudy(config: Config, report: (error: unknown) => void, instead?: Backend): Understudy {
  const { fixtures, warnings } = readFixtures(config.fixtures, operations)
  const fixtureAnswers = fixtureBackend([...fixtures, ...embeddedFixtures(operations)], config.on_miss)
  const { forwarding } = config
  const mode = forwarding.upstreams.length > 0 ? 'forward' : 'fixture'
  const backend = instead ?? (mode === 'forward' ? forwarded(config, fixtureAnswers) : fixtureAnswers)
  addProviders(forwarding.named)
  const sessions = createSessions({ ...config, keepTraces: config.keep_traces })
  const seeder = createSeeder(seedsOf(config), callerOf(undefined, config))
  const runs = createRuns(config.scenario.map(loadScenario))
  const app = createApp({
    prepare: seeder.prepare,
    sessions,
    gateway: {
      backend,
      guardrails: { ids: [], find: () => undefined },
      knowledge: knowledgeOf(seeder.prepare),
      runs,
      people: peopleOf(seeder.prepare),
    },
    namespace: config.namespace,
    access: { host: config.host, token: config.token, tokens: config.tokens, cors: config.cors },
    maxBody: config.max_body,
    strict: config.strict,
    about: { version: VERSION, mode, db: config.db, fixtures: fixtureAnswers.count },
    report,
  })
  return { app, sessions, fixtures: fixtureAnswers.count, warnings, mode, about: describeForwarding(forwarding) }
}

/** Real providers for the calls that are forwarded, fixtures for all others. Only this makes what can reach the network. */
function forwarded({ forwarding }: Config, fixtureAnswers: Backend): Backend {
  const providers = forwardBackend(forwarding.upstreams, network)
  return {
    answer(call) {
      const provider = call.model.slice(0, call.model.indexOf('/'))
      return (forwarding.forwards(provider) ? providers : fixtureAnswers).answer(call)
    },
  }
}

/** What fills new sessions. The user's files are read at once, so that a mistake in them ends the start; ours when needed. */
function seedsOf({ fixtures, seed_file }: Config): () => readonly SeedFile[] {
  const beside = fixtures.map((path) => join(path, 'workspace.yaml')).filter((path) => existsSync(path))
  const named = seed_file.length > 0 ? seed_file : beside
  if (named.length === 0) return () => [shippedSeed()]
  const seeds = named.filter((path) => path !== 'none').map(readSeed)
  return () => seeds
}
