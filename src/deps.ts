// The composition root: from the configuration to everything that answers calls.
import { join } from 'node:path'
import { callerOf } from './access.ts'
import type { App } from './app/types.ts'
import { createApp } from './app.ts'
import type { Cassettes } from './backends/cassettes.ts'
import { fixtureBackend } from './backends/fixture/backend.ts'
import type { Fixture } from './backends/fixture/fixture.ts'
import { type FixturesInForce, fixedFixtures, fixturesInForce, shippedFixtures } from './backends/fixture/in-force.ts'
import { toolAnswers } from './backends/fixture/tool-answers.ts'
import type { Spending } from './backends/forward/spending.ts'
import type { Transport } from './backends/forward/transport.ts'
import { describeForwarding, virtualClockProblem } from './config/providers.ts'
import { appSettings, type Config } from './config.ts'
import type { Backend } from './contract/core/backend.ts'
import { type Instance, instanceOf } from './contract/core/instance.ts'
import type { JobLimits } from './contract/core/job-limits.ts'
import type { Observers } from './contract/core/observation.ts'
import { createHealthWatch, type HealthWatch } from './control/health-watch.ts'
import { onDamagedRow } from './db/damaged-rows.ts'
import { fixtureSubjects, operationNames } from './endpoints/index.ts'
import { type AskModel, askThrough } from './gateway/ask.ts'
import { createGateway } from './gateway/handle.ts'
import type { Gateway, GuardrailDirectory, KnowledgeDirectory, People } from './gateway/types.ts'
import { realClock, type TimeSettings } from './lib/clock.ts'
import { lazy } from './lib/lazy.ts'
import { once } from './lib/once.ts'
import { createObservers } from './observers/list.ts'
import type { Upstream } from './providers/endpoints.ts'
import { providerNames } from './providers/names.ts'
import type { SeedFile } from './resources/seeds/seed-file.ts'
import { watchSeeds } from './resources/seeds/seed-watch.ts'
import type { Scenario } from './scenarios/engine.ts'
import type { ScenarioSource } from './scenarios/load.ts'
import { createRuns, type ScenarioRuns, startingTime, type TimeRules } from './scenarios/runs.ts'
import type { SessionsOptions } from './sessions/session-handle.ts'
import { createSessions, type Session, type Sessions } from './sessions/sessions.ts'
import type { Telemetry } from './telemetry/telemetry.ts'
import { VERSION } from './version.ts'

/** A running program, less its listener. */
export interface Understudy {
  app: App
  /** Which process this is. */
  instance: Instance
  sessions: Sessions
  runs: ScenarioRuns
  /** Calls and sessions as they change. */
  observers: Observers
  fixtures: number
  /** A line for each fixture that can never match, and each rule that can never fire. */
  warnings: readonly string[]
  mode: 'fixture' | 'forward' | 'record' | 'replay'
  /** The mode in one line: whether real calls are made, and to whom. */
  about: string
  /** Name of the scenario that every session begins with, and where it is written. */
  scenario: Pick<Scenario, 'name' | 'location'> | undefined
  /** The export of traces, where there is one: to be stopped before the end. */
  telemetry: Telemetry | undefined
  /** What is recorded and replayed, where anything is: to be finished before the end. */
  cassettes: Cassettes | undefined
  /** Who asks how it is, as a balancer does. */
  watch: Pick<HealthWatch, 'count' | 'isWatched'>
}

// Loaded when they are needed: a start with nothing but the shipped fixtures checks no file and fills no workspace.
const workspace = {
  registry: lazy<typeof import('./resources/index.ts')>(() => require('./resources/index.ts')),
  seeds: lazy<typeof import('./resources/seeds/seed.ts')>(() => require('./resources/seeds/seed.ts')),
  search: lazy<typeof import('./resources/knowledge/search.ts')>(() => require('./resources/knowledge/search.ts')),
  guardrails: lazy<typeof import('./resources/evaluators/guardrails.ts')>(() =>
    require('./resources/evaluators/guardrails.ts'),
  ),
  people: lazy<typeof import('./resources/people.ts')>(() => require('./resources/people.ts')),
}
// Loaded when a call may leave this machine.
const network = {
  backend: lazy<typeof import('./backends/forward/backend.ts')>(() => require('./backends/forward/backend.ts')),
  transport: lazy<typeof import('./backends/forward/transport.ts')>(() => require('./backends/forward/transport.ts')),
  spending: lazy<typeof import('./backends/forward/spending.ts')>(() => require('./backends/forward/spending.ts')),
}
const recordings = lazy<typeof import('./backends/cassettes.ts')>(() => require('./backends/cassettes.ts'))
const control = lazy<typeof import('./control/sessions.ts')>(() => require('./control/sessions.ts'))
const exporter = lazy<typeof import('./telemetry/telemetry.ts')>(() => require('./telemetry/telemetry.ts'))
const chat = lazy<typeof import('./endpoints/chat-completions.ts')>(() => require('./endpoints/chat-completions.ts'))
const loader = lazy<typeof import('./backends/fixture/load.ts')>(() => require('./backends/fixture/load.ts'))
const watcher = lazy<typeof import('./backends/fixture/watch.ts')>(() => require('./backends/fixture/watch.ts'))
const fixtureReader = lazy<typeof import('./backends/fixture/read-fixture.ts')>(() =>
  require('./backends/fixture/read-fixture.ts'),
)
const scenarioFiles = lazy<typeof import('./scenarios/load.ts')>(() => require('./scenarios/load.ts'))

/** What takes the place of something that the configuration names. */
export interface Replacements {
  /** Answers attempts. */
  backend?: Backend | undefined
  /** Scenarios, the first of which every session begins with. */
  scenarios?: readonly ScenarioSource[] | undefined
  /** Name of the session that programs work in which name none: the default one when left out. */
  home?: string | undefined
  /** Cassettes that are recorded, while all others are replayed: every one is recorded when left out. */
  recordOnly?: readonly string[] | undefined
  /** Prints a line about a setting or a scenario that is not followed. */
  notice?: ((line: string) => void) | undefined
  /** Milliseconds of real time, by which sessions grow old. */
  realNow?: (() => number) | undefined
  /** The bounds of work that is done in workers. */
  jobLimits?: JobLimits | undefined
}

const warningsOfRules = (given: readonly ScenarioSource[]) =>
  given.flatMap(({ scenario }) => scenarioFiles().rulesWithoutEffect(scenario, operationNames()))
const parseFixtures = (values: readonly unknown[]) => fixtureReader().requestFixtures(values, fixtureSubjects)

/** Builds the program; throws `FileError` or `DatabaseError` when a file cannot be used, `ConfigError` for settings at odds. */
export function createUnderstudy(
  config: Config,
  report: (error: unknown) => void,
  instead: Replacements = {},
): Understudy {
  const { forwarding } = config
  const mode = modeOf(config)
  const { files, inForce } = fixturesOf(config, report)
  const answers = fixtureBackend(inForce, config.on_unmatched, { tools: config.tools })
  const spending = forwarding.upstreams.length > 0 && !forwarding.isOffline ? spendingOf(config) : undefined
  const cassettes = cassettesOf(config, instead)
  const isForwarding = forwarding.upstreams.length > 0
  const backend = instead.backend ?? (isForwarding ? forwarded(config, answers, { spending, cassettes }) : answers)
  const given = instead.scenarios ?? namedScenarios(config, report)
  const time: TimeRules = {
    overrides: config.timeOverrides,
    noVirtualClock: virtualClockProblem(config.forwarding),
    notice: instead.notice ?? (() => {}),
  }
  const runs = createRuns(given, time)
  const sessions = createSessions(
    sessionSettings(config, given[0] ? runs.timeOf(given[0].scenario) : {}, { time, instead }),
  )
  const { instance } = sessions
  const observers = createObservers(report)
  if (instead.notice) onDamagedRow(instead.notice)
  const telemetry = telemetryOf(config, { observers, instance, report })
  const ask = askThrough(
    (inner) => gateway.call(inner),
    () => chat().chatCompletions,
  )
  const { prepare, ...directories } = workspaceOf(config, ask, report)
  const gateway: Gateway = createGateway({
    backend,
    runs,
    ...directories,
    clientTimeout: config.client_timeout,
    report,
    observers,
    providers: providerNames(forwarding.named),
    history: { mode: config.history, overrides: config.historyOverrides },
    redactorOf: cassettes?.redactorOf,
  })
  const watch = createHealthWatch(realClock.now)
  const fixtures = { ...inForce, give: givesFixtures(inForce, config, time.notice), parse: parseFixtures, files }
  if (cassettes) sessions.watch({ removed: cassettes.rewind })
  sessions.watch({ restored: (...left) => control().continueSession(...left, { runs, fixtures }) })
  const app = createApp({
    prepare,
    sessions,
    gateway,
    ask,
    ...appSettings(config),
    fixtures,
    toolAnswers: toolAnswers(inForce, config.on_unmatched),
    about: { ...aboutOf(config), instance, mode, spending, telemetry, cassettes, watch, fixtures: () => inForce.count },
    report,
  })
  return {
    app,
    instance,
    sessions,
    runs,
    observers,
    fixtures: inForce.count,
    warnings: [...files.warnings, ...warningsOfRules(given)],
    mode,
    about: describeForwarding(forwarding, config),
    scenario: given[0]?.scenario,
    telemetry,
    cassettes,
    watch,
  }
}

function modeOf({ record, replay, forwarding }: Config): Understudy['mode'] {
  if (forwarding.upstreams.length === 0) return 'fixture'
  if (record !== undefined) return 'record'
  return replay === undefined ? 'forward' : 'replay'
}

/** The cassettes that are recorded or replayed; undefined where none are. */
function cassettesOf(config: Config, { home, notice = () => {}, recordOnly }: Replacements): Cassettes | undefined {
  const { record, replay, on_miss: onMiss, speed = 'real', allow, volatile: rules, token, tokens, forwarding } = config
  if (record === undefined && replay === undefined) return undefined
  const keys = [...forwarding.upstreams.flatMap(({ key }) => key ?? []), ...token, ...Object.keys(tokens)]
  return recordings().createCassettes({
    ...{ record, replay, only: recordOnly, onMiss, speed, allow, rules, home, notice },
    redaction: { paths: config.redact, personalNames: config.redact_names, keys },
    limit: config.max_recorded,
  })
}

/** The export of traces, where there is one. */
function telemetryOf(
  { telemetry }: Config,
  { observers, instance, report }: { observers: Observers; instance: Instance; report: (error: unknown) => void },
): Telemetry | undefined {
  if (!telemetry) return undefined
  // Its name is known once it listens.
  const resource = () => ({ 'service.instance.id': instance.name, ...telemetry.resource })
  return exporter().startTelemetry(observers, { ...telemetry, resource }, report)
}

/** What the program says of itself from its start on. */
const aboutOf = ({ db }: Config) => ({ version: VERSION, db, started: realClock.now() })

/** The files of fixtures, and what is in force of them and of the shipped ones. */
function fixturesOf({ fixtures: paths, shipped_fixtures: ships }: Config, report: (error: unknown) => void) {
  const files =
    paths.length > 0 ? watcher().watchFixtures(paths, { subjects: fixtureSubjects, report }) : fixedFixtures([])
  const shipped = ships ? shippedFixtures(() => loader().embeddedFixtures(fixtureSubjects)) : []
  return { files, inForce: fixturesInForce({ files, shipped }) }
}

/** Gives sessions their fixtures. The first time that some do not apply to calls that are forwarded or replayed, a line says so. */
function givesFixtures(
  inForce: FixturesInForce,
  { forwarding, record, replay }: Config,
  notice: (line: string) => void,
) {
  const { upstreams, forwards } = forwarding
  const calls = forwards('') ? 'calls of models' : `calls to ${upstreams.map(({ name }) => name).join(', ')}`
  const how = record !== undefined ? 'recorded' : replay !== undefined ? 'replayed' : 'forwarded'
  const ofModels = once(() => new Set(operationNames()))
  let isNoted = upstreams.length === 0
  return (session: string, own: readonly Fixture[]): void => {
    inForce.give(session, own)
    if (isNoted || !own.some(({ operation }) => ofModels().has(operation))) return
    isNoted = true
    notice(`the fixtures of session ${session} do not apply to ${calls}, which are ${how}`)
  }
}

const namedScenarios = ({ scenario }: Config, report: (error: unknown) => void): ScenarioSource[] =>
  scenario.map((nameOrFile) => scenarioFiles().openScenario(nameOrFile, report))

/** What sessions are made with; `scenarioTime` is how time passes under the scenario that each begins with. */
function sessionSettings(
  config: Config,
  scenarioTime: Partial<TimeSettings>,
  { time, instead: { realNow, home, jobLimits } }: { time: TimeRules; instead: Replacements },
): SessionsOptions {
  const ownTime: TimeSettings = { clock: config.clock, latency: config.skip_latency ? 'skip' : 'real' }
  return {
    db: config.db,
    folder: config.sessions_dir,
    instance: instanceOf(config),
    seed: config.seed,
    time: startingTime(ownTime, scenarioTime, time),
    keep: {
      traces: config.keep_traces,
      traceBytes: config.keep_trace_bytes,
      answerBytes: config.keep_response_bytes,
    },
    shapes: (kind) => workspace.registry().recordShapes(kind),
    noVirtualClock: time.noVirtualClock,
    most: config.max_sessions,
    ttl: config.session_ttl,
    realNow,
    home,
    jobLimits,
  }
}

/** What calls find in the workspace of their session, which is filled before it is first looked at. */
function workspaceOf(config: Config, ask: AskModel, report: (error: unknown) => void) {
  const seeds = seedsOf(config, report)
  const seeder = once(() =>
    workspace.seeds().createSeeder({ read: seeds, caller: callerOf(undefined, config), report }),
  )
  const prepare = (session: Session) => session.clock.work(seeder().prepare(session))
  const checks = once(() => workspace.guardrails().guardrailsOf({ namespace: config.namespace, prepare, ask }))
  const guardrails: GuardrailDirectory = { ids: () => checks().ids(), find: (...asked) => checks().find(...asked) }
  const knowledge: KnowledgeDirectory = {
    search: (call, query) => workspace.search().knowledgeOf(prepare).search(call, query),
  }
  const people: People = { meet: (identity, call) => workspace.people().peopleOf(prepare).meet(identity, call) }
  return { prepare, guardrails, knowledge, people }
}

/**
 * Real providers, or their cassettes, for the calls that are forwarded, fixtures for all others. Only this makes what
 * can reach the network.
 */
function forwarded(
  { forwarding, max_response: maxResponse, replay }: Config,
  answers: Backend,
  { spending, cassettes }: { spending: Spending | undefined; cassettes: Cassettes | undefined },
): Backend {
  const providers = cassettes
    ? cassettes.choose({
        real: spending && realProviders(forwarding.upstreams, cassettes.recording, { spending, maxResponse }),
        replayed: replay === undefined ? undefined : replayedProviders(forwarding.upstreams, cassettes, maxResponse),
      })
    : realProviders(forwarding.upstreams, (transport) => transport, { spending, maxResponse })
  const leaves = (model: string) => forwarding.forwards(model.slice(0, model.indexOf('/')))
  const { passing } = providers
  return {
    // What follows from the request alone is worked out here, unless the provider's own API is called.
    answer: (call) => (leaves(call.model) && !call.operation.isComputed ? providers : answers).answer(call),
    forwards: leaves,
    ...(passing && { passing: { ...passing, takes: (model, api) => leaves(model) && passing.takes(model, api) } }),
  }
}

function realProviders(
  upstreams: readonly Upstream[],
  wrap: (transport: Transport) => Transport,
  limits: { spending: Spending | undefined; maxResponse: number },
): Backend {
  const { spending, maxResponse } = limits
  return network
    .backend()
    .forwardBackend(upstreams, wrap(network.transport().network), { ...(spending && { spending }), maxResponse })
}

/** The same for cassettes, which need no keys. */
const replayedProviders = (upstreams: readonly Upstream[], { replaying }: Cassettes, maxResponse: number): Backend =>
  network.backend().forwardBackend(
    upstreams.map(({ key: _, ...upstream }) => ({ ...upstream, keyOptional: true })),
    replaying,
    { maxResponse },
  )

function spendingOf({ max_calls: calls, max_cost: cost }: Config): Spending {
  return network.spending().createSpending({ calls, cost })
}

/** What fills new sessions. The user's files are read at once, so that a mistake in them ends the start; ours when needed. */
function seedsOf({ fixtures, seed_file: named }: Config, report: (error: unknown) => void): () => readonly SeedFile[] {
  const maybe = fixtures.map((path) => join(path, 'workspace.yaml'))
  return watchSeeds({ named, maybe }, report)
}
