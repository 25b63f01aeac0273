// /_understudy/sessions: sessions with settings, a scenario and fixtures of their own.

import { z } from 'zod'
import { ApprovalMode, ClockKind, SessionClock, SessionInfo } from '../contract/core/control-answers.ts'
import { Duration } from '../contract/core/duration.ts'
import { ApiError } from '../contract/core/error.ts'
import { HISTORY_MODES } from '../contract/core/history-mode.ts'
import type { Route } from '../contract/core/route.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { LAST_INSTANT } from '../lib/clock.ts'
import { parseRequest } from '../schema/validation.ts'
import { UnusableSession } from '../sessions/refusals.ts'
import type { Session } from '../sessions/sessions.ts'
import { chosenScenario, ScenarioBody } from './scenario.ts'
import { type ControlDeps, controlRoute, InstanceName } from './types.ts'

const CHANGES = ['advance', 'freeze', 'resume', 'set'] as const
const ClockChange = z
  .strictObject({
    advance: Duration.optional().describe(
      'Advances the clock by a duration, such as `10m`, and ends all waits due by then.',
    ),
    freeze: z.literal(true).optional().describe('Freezes the clock. No wait ends until the clock is advanced.'),
    resume: z.literal(true).optional().describe('Resumes skipping from wait to wait.'),
    set: z.iso
      .datetime({ offset: true, error: 'must be an ISO 8601 time such as 2025-01-01T00:00:00Z' })
      .refine((text) => Date.parse(text) >= 0 && Date.parse(text) <= LAST_INSTANT, {
        error: 'must be a time from 1970 to 9999',
      })
      .optional()
      .describe('Sets the time. Pending waits keep their remaining duration.'),
  })
  .refine((change) => CHANGES.filter((name) => change[name] !== undefined).length === 1, {
    error: `must have exactly one of ${CHANGES.map((name) => `'${name}'`).join(', ')}`,
  })

/** The clock of a session as a response. */
function clockOf({ clock }: Session): SessionInfo['clock'] {
  const now = new Date(clock.now()).toISOString()
  if (clock.kind === 'real') return { kind: 'real', now, frozen: false, waiting: 0 }
  return { kind: 'virtual', now, frozen: clock.frozen, waiting: clock.waiting }
}

/**
 * The route that controls the clock of a session.
 * @throws ApiError 400 for a real clock
 */
function clockRoute({ sessions, observers }: ControlDeps): Route {
  return controlRoute({
    method: 'post',
    path: '/_understudy/sessions/:name/clock',
    session: 'none',
    operationId: 'moveClock',
    summary: 'Control the clock of a session',
    description: 'Advances, freezes, resumes, or sets a virtual clock. A real clock cannot be changed.',
    body: ClockChange,
    examples: { later: { advance: '10m' } },
    answerName: 'SessionClock',
    response: SessionClock,
    errors: [404, 409],
    find: ({ params: { name = '' } }) => sessions.find(name),
    async handle({ params: { name = '' }, body: { advance, freeze, resume, set } }) {
      const session = sessions.find(name)
      const { clock } = session
      if (clock.kind === 'real') {
        const message = `the clock of session ${JSON.stringify(name)} is real and cannot be changed: create the session with "clock": "virtual", or activate a scenario with a virtual clock`
        throw new ApiError(400, 'clock_is_real', message)
      }
      if (advance !== undefined) {
        const remaining = LAST_INSTANT - clock.now()
        if (advance > remaining) {
          const message = `'advance' must not go beyond the end of the year 9999, which is ${remaining} ms after the time of this clock, got ${advance} ms`
          throw new ApiError(400, 'invalid_value', message, { param: 'advance' })
        }
        await clock.advance(advance)
      }
      if (freeze) clock.freeze()
      if (resume) clock.resume()
      if (set !== undefined) clock.set(Date.parse(set))
      observers.notify({ type: 'session-changed', session: name, change: 'clock' })
      return clockOf(session)
    },
  })
}

const Settings = z.strictObject({
  seed: z.int().min(0).optional().describe("Seed of ids and randomness. Default: the server's seed."),
  clock: ClockKind.optional().describe('Default: the setting of the scenario, or of the server.'),
  latency: z
    .enum(['real', 'skip'])
    .optional()
    .describe(
      'Whether latency takes real time on a virtual clock. Default: the setting of the scenario, or of the server.',
    ),
  scenario: z
    .union([z.string(), ScenarioBody])
    .optional()
    .describe('The name of a known scenario, or a complete scenario.'),
  approvals: ApprovalMode.default('ask'),
  history: z
    .enum(HISTORY_MODES)
    .optional()
    .describe(
      'Whether conversations that their providers would reject are rejected, only reported, or not checked. Default: the setting of the scenario, or of the server.',
    ),
  fixtures: z
    .array(z.unknown())
    .default([])
    .describe('Fixtures in the file format, with `match.operation`. They take precedence over all others.'),
})
const NewSession = z.strictObject({
  name: z
    .string()
    .describe(
      "1 to 110 letters, digits, '.', '_', '-', or '/', such as the file and the title of a test. In an address, `/` is written as `%2F`.",
    ),
  ...Settings.shape,
})

const Problem = z.object({
  session: z.string(),
  message: z.string().describe('What is wrong with the file and how to fix it.'),
})
const Done = z.object({ sessions: z.array(z.string()).describe('The affected sessions.') })
const Reset = Done.extend({
  problems: z
    .array(Problem)
    .optional()
    .describe('Sessions that were not reset because their files are unusable. Absent if there are none.'),
})
const all = z.enum(['true', 'false']).default('false').describe('All sessions instead of one.')
const path = '/_understudy/sessions'
const one = { answerName: 'Session', response: SessionInfo }

const SessionList = z.object({
  object: z.literal('list'),
  instance: InstanceName,
  data: z.array(SessionInfo),
  problems: z.array(Problem).describe('Sessions whose files could not be loaded.'),
})

/** `/_understudy/sessions`: lists, creates, resets and deletes sessions. */
export function sessionRoutes(deps: ControlDeps): Route[] {
  const { about, sessions, sessionOf, runs, fixtures, observers, earlier } = deps
  /** A session in a response. */
  const info = (session: Session): SessionInfo => ({
    name: session.name,
    seed: session.seed,
    clock: clockOf(session),
    scenario: runs.current(session)?.name ?? null,
    approvals: session.approvals,
    fixtures: fixtures.given(session.name).map(({ name }) => name),
    calls: session.calls,
    origin: session.slot.origin,
  })
  const reset = async (session: Session): Promise<Session> => {
    const keep = earlier.before(session, 'reset')
    const next = runs.enter(await session.slot.reset())
    keep()
    observers.notify({ type: 'session-changed', session: session.name, change: 'reset' })
    return next
  }
  /** An unreadable session has no evidence, and can be deleted all the same. */
  const evidenceOf = (session: Session) => {
    try {
      return earlier.before(session, 'deletion')
    } catch (error) {
      if (error instanceof UnusableSession) return undefined
      throw error
    }
  }
  return [
    controlRoute({
      method: 'post',
      path,
      ...one,
      session: 'none',
      operationId: 'createSession',
      summary: 'Create a session',
      description: 'Creates an isolated session with its own seed, clock, scenario, and fixtures.',
      body: NewSession,
      examples: { mine: { name: 'mine', clock: 'virtual', scenario: 'rate-limit-burst' } },
      errors: [409, 429, 503],
      async handle({ request, body }) {
        deps.mustBeSeen(body.name, request)
        await sessions.turn?.(body.name)
        return info(createSession(body, deps))
      },
    }),
    controlRoute({
      method: 'put',
      path: `${path}/:name`,
      ...one,
      session: 'none',
      operationId: 'putSession',
      summary: 'Create a session by name',
      description:
        'Creates a session whose name is in the URL, where a load balancer can read it. Returns 201 if the session is new, 200 if it exists with the same settings, and 409 if it exists with different settings.',
      body: Settings,
      examples: { mine: { clock: 'virtual', scenario: 'rate-limit-burst' } },
      errors: [409, 429, 503],
      alsoWith: { 201: 'The session was created.' },
      async handle({ body, params: { name = '' } }) {
        await sessions.turn?.(name)
        const made = sessions.known(name) === undefined
        const session = info(putSession(name, body, deps))
        return made ? Response.json(session, { status: 201 }) : session
      },
    }),
    controlRoute({
      path,
      session: 'none',
      operationId: 'listSessions',
      summary: 'List sessions',
      description: 'All sessions of this process, in order of creation. Sessions of other instances are not listed.',
      response: SessionList,
      handle: () => ({
        object: 'list',
        instance: about.instance.name,
        data: sessions.list().map(info),
        problems: sessions.problems(),
      }),
    }),
    controlRoute({
      path: `${path}/:name`,
      ...one,
      session: 'none',
      operationId: 'getSession',
      summary: 'Get a session',
      description: 'The settings, clock, and call count of the session.',
      errors: [404],
      handle({ params: { name = '' } }) {
        const session = sessions.find(name)
        session.slot.check()
        return info(session)
      },
    }),
    controlRoute({
      method: 'delete',
      path: `${path}/:name`,
      session: 'none',
      operationId: 'deleteSession',
      summary: 'Delete a session',
      description: 'Deletes the session and all its data.',
      response: Done,
      errors: [400, 404],
      handle({ params: { name = '' } }) {
        const session = sessions.loaded(name)
        const keep = session && evidenceOf(session)
        sessions.delete(name)
        keep?.()
        return { sessions: [name] }
      },
    }),
    controlRoute({
      method: 'post',
      path: `${path}/:name/reset`,
      ...one,
      session: 'none',
      operationId: 'resetSession',
      summary: 'Reset a session by name',
      description:
        'Deletes the data of the session, restarts its scenario and virtual clock, and keeps its settings and fixtures. The same calls then get the same responses.',
      errors: [404],
      async handle({ params: { name = '' } }) {
        const session = sessions.find(name)
        return info(await reset(session))
      },
    }),
    controlRoute({
      method: 'post',
      path: '/_understudy/reset',
      operationId: 'resetSessions',
      summary: 'Reset a session',
      description:
        "Resets the caller's session, or all sessions, including those that an earlier process left in the sessions folder. Workspaces are seeded again.",
      query: z.strictObject({ all }),
      response: Reset,
      async handle({ request, query }): Promise<z.infer<typeof Reset>> {
        if (query.all !== 'true') return { sessions: [(await reset(sessionOf(request))).name] }
        const names: string[] = []
        const problems: z.infer<typeof Problem>[] = []
        const each = async (name: string, run: () => unknown) => {
          try {
            await run()
            names.push(name)
          } catch (error) {
            if (!(error instanceof UnusableSession)) throw error
            problems.push({ session: name, message: error.message })
          }
          // There may be thousands.
          await nextTurn()
        }
        for (const session of sessions.list()) await each(session.name, () => reset(session))
        for (const name of sessions.left()) {
          const used = sessions.loaded(name)
          await each(name, () => (used ? reset(used) : sessions.clearLeft(name)))
        }
        return { sessions: names, ...(problems.length > 0 && { problems }) }
      },
    }),
    clockRoute(deps),
  ]
}

/** The settings of created sessions by their handles, as text, so that the same ones can be requested again. */
const madeWith = new WeakMap<Session['slot'], string>()

/**
 * The session of a name, created with these settings. An existing one must have been created with the same, or none be
 * given.
 */
function putSession(name: string, settings: z.infer<typeof Settings>, deps: ControlDeps): Session {
  const found = deps.sessions.known(name)
  const settingsText = JSON.stringify(settings)
  if (!found) return createSession({ name, ...settings }, deps)
  found.slot.check()
  if (settingsText === NO_SETTINGS || settingsText === madeWith.get(found.slot)) return found
  const message = `there is a session named ${JSON.stringify(name)} already, and its settings are different: delete it, or use another name`
  throw new ApiError(409, 'session_exists', message, { param: 'name' })
}
const NO_SETTINGS = JSON.stringify(Settings.parse({}))

/** Restores the settings of an earlier process's session: its fixtures, and its scenario from the start. */
export function continueSession(
  session: Session,
  made: Record<string, unknown>,
  { runs, fixtures }: Pick<ControlDeps, 'runs' | 'fixtures'>,
): void {
  const settings = parseRequest(Settings, made.settings ?? {}, { whole: 'what it was made with' })
  madeWith.set(session.slot, JSON.stringify(settings))
  fixtures.give(session.name, fixtures.parse(settings.fixtures))
  if (settings.scenario !== undefined) runs.start(session, chosenScenario(settings.scenario, runs))
}

/** Creates a session completely or not at all: mistakes are found first. */
function createSession(
  { name, ...settings }: z.infer<typeof NewSession>,
  { sessions, runs, fixtures, observers }: ControlDeps,
): Session {
  const { seed, clock, latency, approvals, history, scenario: given, fixtures: values } = settings
  const own = fixtures.parse(values)
  const source = given === undefined ? undefined : chosenScenario(given, runs, 'scenario')
  const time = source ? runs.timeOf(source.scenario) : {}
  const clockKind = time.clock
  if (clock && clockKind && clock !== clockKind) {
    const message = `'clock' ${JSON.stringify(clock)} conflicts with the scenario, which requires a ${clockKind} clock: leave one of them out`
    throw new ApiError(400, 'clock_conflict', message, { param: 'clock' })
  }
  const special = { seed, clock: clock ?? clockKind, latency: latency ?? time.latency, approvals, history }
  const session = sessions.create(name, special, { session: special, settings })
  madeWith.set(session.slot, JSON.stringify(Settings.parse(settings)))
  fixtures.give(name, own)
  if (source) runs.start(session, source)
  observers.notify({ type: 'session-changed', session: name, change: 'created' })
  return runs.enter(session.slot.current)
}
