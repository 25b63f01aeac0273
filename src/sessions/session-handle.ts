// Makes sessions and their generations, one after another: with the settings of the program, those that a session is made with, or those
// that it was left with.
import { ApiError } from '../contract/core/error.ts'
import type { HistoryMode } from '../contract/core/history-mode.ts'
import type { Instance } from '../contract/core/instance.ts'
import type { JobLimits } from '../contract/core/job-limits.ts'
import { openFile } from '../db/open.ts'
import type { RecordShapes } from '../db/record-shapes.ts'
import { lastInstant } from '../db/snapshot.ts'
import { type Clock, type LatencyMode, realClock, type TimeSettings, type VirtualClock } from '../lib/clock.ts'
import { processSecret } from '../lib/ids.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import { VIRTUAL_START, virtualClock } from '../lib/virtual-clock.ts'
import { fileData, loadedMemoryData, memoryData, resetError, type SessionData } from './data.ts'
import type { GeneratedWith, SessionFolder } from './folder.ts'
import { checkName } from './refusals.ts'
import {
  type Activity,
  type Approvals,
  DEFAULT_SESSION,
  type Requester,
  type Session,
  type SessionGap,
  type SessionHandle,
  type SessionOrigin,
} from './session.ts'
import type { DataLimits } from './stores.ts'

/** What a session is made of. */
interface SlotOptions {
  name: string
  seed: number
  time: TimeSettings
  approvals: Approvals
  history: HistoryMode | undefined
  isHome: boolean
  isDefault: boolean
  instance: Instance
  /** Whether it is made on purpose, and not by its first call. */
  made: boolean
  /** Its data; `now` tells the time of its clock. */
  data(now: () => number): SessionData
  /** Why it may have no virtual clock. */
  noVirtualClock: string | undefined
  /** The bounds of its work in workers. */
  jobLimits?: JobLimits | undefined
  /** Told of each generation after the first. */
  renewed(session: Session): void
  /** Takes data that no generation has any more; `isUsed` tells whether work of the session is under way. */
  discard(data: SessionData, isUsed: () => boolean): void
}

/** A session that is kept. */
export interface OwnedSession extends SessionHandle {
  /** How many calls and other work are under way. */
  readonly active: number
  /** Whether its database is open. */
  readonly awake: boolean
  /** Closes the database when it has been at rest. */
  sleep(): void
  /** Ends what runs; the data goes with the last that uses it. */
  forget(reason: ApiError): void
  /** Its data is no session's any more. */
  leave(): void
  close(): void
}

/** 400 when a clock cannot be had. */
function checkClock(kind: Clock['kind'], noVirtualClock: string | undefined): void {
  if (kind === 'virtual' && noVirtualClock)
    throw new ApiError(400, 'clock_not_possible', `${noVirtualClock}: leave 'clock' out`, { param: 'clock' })
}

/** A clock on which time passes so; one of that kind goes on. */
function clockOf({ clock: kind, latency }: TimeSettings, before?: Session['clock']): Session['clock'] {
  if (kind === 'real') return realClock
  const clock = before?.kind === 'virtual' ? before : virtualClock()
  clock.skipLatency(latency === 'skip')
  return clock
}

/** How time passes on a clock. */
const timeOf = (clock: Session['clock']): TimeSettings => ({
  clock: clock.kind,
  latency: clock.kind === 'virtual' && clock.skipsLatency ? 'skip' : 'real',
})

/** What a generation is made of. */
interface Generation {
  clock: Session['clock']
  data: SessionData
}

/** What all generations of a session have in common. */
interface Lineage {
  name: string
  seed: number
  approvals: Approvals
  history: HistoryMode | undefined
  isHome: boolean
  jobLimits?: JobLimits | undefined
  slot: SessionHandle
  /** Calls and other work under way. */
  active: number
}

/** A session of a name, with its first generation. */
function createSlot(options: SlotOptions): OwnedSession {
  const { time: ownTime, instance, data, noVirtualClock, renewed } = options
  checkClock(ownTime.clock, noVirtualClock)
  const discard = (data: SessionData) => options.discard(data, () => lineage.active > 0)
  const next = (change: Partial<Generation>, reason: ApiError): Session => {
    const before = current
    const { clock, data } = generation
    generation = { ...generation, ...change }
    current = beginGeneration(generation, lineage)
    before.end(reason)
    if (data !== generation.data) discard(data)
    if (clock !== generation.clock && clock.kind === 'virtual') clock.end(reason)
    renewed(current)
    return current
  }
  const anew = (data: SessionData, clock: Session['clock'], reason: ApiError): Session => {
    beginning.makeAnew()
    return next({ data, clock }, reason)
  }
  const slot: OwnedSession = {
    get current() {
      return current
    },
    ownTime,
    instance,
    get origin() {
      return beginning.origin
    },
    get gap() {
      return beginning.gap
    },
    moved: () => beginning.move(),
    announce: () => beginning.announce(),
    get active() {
      return lineage.active
    },
    get awake() {
      return generation.data.awake
    },
    get problem() {
      return generation.data.problem
    },
    check: () => generation.data.check?.(),
    renew({ clock: kind = ownTime.clock, latency = ownTime.latency } = {}) {
      checkClock(kind, noVirtualClock)
      const clock = clockOf({ clock: kind, latency }, generation.clock)
      return next({ clock }, resetError('the scenario of the session changed'))
    },
    reset: async () => anew(await generation.data.replaced(null), clockOf(timeOf(generation.clock)), resetError()),
    async replace(snapshot) {
      const data = await generation.data.replaced(snapshot)
      // Virtual time goes on from what is loaded, whatever was before: the same calls then have the same answers again.
      const clock =
        generation.clock.kind === 'virtual' ? clockAfter(lastInstant(snapshot), generation.clock) : generation.clock
      return anew(data, clock, resetError('the data of the session was replaced'))
    },
    sleep: () => generation.data.sleep(),
    forget: (reason) => current.end(reason),
    leave() {
      generation.data.leave()
      discard(generation.data)
    },
    close() {
      current.end(resetError('the server was stopped'))
      generation.data.close()
    },
  }
  const lineage: Lineage = { ...options, slot, active: 0 }
  let generation: Generation = { clock: clockOf(ownTime), data: data(() => generation.clock.now()) }
  if (!options.isDefault) generation.clock = continuedClock(generation)
  let current = beginGeneration(generation, lineage)
  const origin = options.made ? 'made' : generation.data.restored ? 'restored' : 'called'
  const beginning = beginningOf(origin, instance.named)
  return slot
}

/** The clock of data that was left: virtual time goes on from it. */
const continuedClock = ({ clock, data }: Generation): Session['clock'] =>
  data.restored && clock.kind === 'virtual' ? clockAfter(data.lastInstant(), clock) : clock

function clockAfter(instant: number, { skipsLatency }: VirtualClock): VirtualClock {
  const clock = virtualClock(Math.max(VIRTUAL_START, instant))
  clock.skipLatency(skipsLatency)
  return clock
}

/** How a session came to be, whether it may lack calls, and what was said of that; `isOneOfSeveral`: there are other instances. */
function beginningOf(origin: SessionOrigin, isOneOfSeveral: boolean) {
  let unsaid: SessionGap | undefined =
    origin === 'made' || (origin === 'restored' && !isOneOfSeveral) ? undefined : origin
  let hasMoved = false
  const beginning = {
    origin,
    get gap(): SessionGap | undefined {
      if (!isOneOfSeveral) return undefined
      if (hasMoved) return 'moved'
      return beginning.origin === 'made' ? undefined : beginning.origin
    },
    move() {
      hasMoved = true
      unsaid = 'moved'
    },
    /** What it holds from now on is all that there is. */
    makeAnew() {
      beginning.origin = 'made'
      hasMoved = false
      unsaid = undefined
    },
    announce() {
      const said = unsaid
      unsaid = undefined
      return said
    },
  }
  return beginning
}

/** A generation, and how it ends. */
interface EndingSession extends Session {
  /** Aborts whatever runs in it. */
  end(reason: ApiError): void
}

function beginGeneration({ clock, data }: Generation, lineage: Lineage): EndingSession {
  const { name, seed, approvals, history, isHome, jobLimits, slot } = lineage
  const ending = new AbortController()
  const running = new Set<AbortController>()
  const among = { ending, running, lineage }
  return {
    name,
    seed,
    approvals,
    history,
    isHome,
    clock,
    ...storesOf(data),
    // A virtual clock does not jump over a commit.
    transact: (run) => clock.work(data.transact(run)),
    ended: ending.signal,
    jobLimits,
    secret: clock.kind === 'virtual' ? `${seed}:${name}` : processSecret(),
    get calls() {
      return data.calls
    },
    underWay: data.underWay,
    nextCall: () => ++data.calls,
    begin: (client) => new RunningActivity(client, among),
    slot,
    end(reason) {
      ending.abort(reason)
      for (const one of running) one.abort(reason)
    },
  }
}

const storesOf = ({ traces, keyValues, records, contents, sequences, keyedKinds, snapshot, counts }: SessionData) => ({
  traces,
  keyValues,
  records,
  contents,
  sequences,
  keyedKinds,
  snapshot,
  counts,
})

/** What a session may have otherwise than the others. */
export interface SessionSettings {
  seed?: number | undefined
  clock?: TimeSettings['clock'] | undefined
  latency?: LatencyMode | undefined
  approvals?: Approvals | undefined
  history?: HistoryMode | undefined
}

/** What all sessions have in common. */
export interface SessionsOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  /** Folder of the databases of all others, which are in memory when it is left out. */
  folder?: string | undefined
  seed: number
  time: TimeSettings
  /** The process that they live in. */
  instance: Instance
  /** Why no session may have a virtual clock; undefined when each may. */
  noVirtualClock?: string | undefined
  /** How much of each session is kept. */
  keep?: DataLimits | undefined
  /** What the bodies of records must be, by kind; any object when left out. */
  shapes?: RecordShapes | undefined
  /** Most sessions. */
  most?: number | undefined
  /** Milliseconds of real time after which a session is dropped that nobody uses, never the default one; none is when left out. */
  ttl?: number | undefined
  /** Name of the session that programs work in which name none; the default one when left out. */
  home?: string | undefined
  /** Milliseconds of real time. */
  realNow?: (() => number) | undefined
  /** The bounds of their work in workers. */
  jobLimits?: JobLimits | undefined
}

/** What sessions are made of. */
interface SlotParts {
  empty: () => Buffer
  folder: SessionFolder | undefined
  opened(): void
  renewed(session: Session): void
}

/** What a session that was left is otherwise than the others. */
const settingsIn = (made: GeneratedWith | undefined) => made?.session as SessionSettings | undefined

/** Makes a session of a name, which may be otherwise than the others. */
export function sessionHandleMaker(
  options: SessionsOptions,
  { empty, folder, opened, renewed }: SlotParts,
): (name: string, settings?: SessionSettings | 'called', made?: GeneratedWith) => OwnedSession {
  const { db, instance, keep = {}, shapes, noVirtualClock, jobLimits } = options
  const dataOf =
    (name: string, looked: boolean, made: GeneratedWith | undefined) =>
    (now: () => number): SessionData => {
      if (name !== DEFAULT_SESSION && folder && !looked) return folder.data(name, { keep, now, shapes }, made)
      if (name !== DEFAULT_SESSION) return memoryData(empty, { keep, now, shapes, opened })
      if (db === ':memory:') return loadedMemoryData(empty, { keep, now, shapes, opened })
      return fileData(openFile(db), { keep, now, shapes })
    }
  const discard = createDiscards()
  return (name, settings, made) => {
    checkName(name)
    // One that is looked at alone leaves no file.
    const given = typeof settings === 'object' ? settings : (settings && settingsIn(folder?.madeWith(name))) || {}
    const { seed = options.seed, approvals = 'ask', history } = given
    const { clock = options.time.clock, latency = options.time.latency } = given
    const isHome = name === (options.home ?? DEFAULT_SESSION)
    return createSlot({
      name,
      seed,
      time: { clock, latency },
      approvals,
      history,
      isHome,
      isDefault: name === DEFAULT_SESSION,
      instance,
      made: typeof settings === 'object',
      data: dataOf(name, settings === undefined, made),
      noVirtualClock,
      jobLimits,
      renewed,
      discard,
    })
  }
}

/** Work of a generation that has ended may still write its last lines for some turns. */
const DISCARDED_AFTER_MS = 5_000

/** Closes data that nobody uses, some time after it was given, when more is given; the collector closes what is still used then. */
function createDiscards(): SlotOptions['discard'] {
  const given: { data: SessionData; isUsed: () => boolean; at: number }[] = []
  return (data, isUsed) => {
    if (!data.discard) return
    const now = monotonicMs()
    given.push({ data, isUsed, at: now })
    while (given[0] && given[0].at + DISCARDED_AFTER_MS < now) {
      const oldest = given.shift()
      if (oldest?.isUsed() === false) oldest.data.discard?.()
    }
  }
}

/** What the activities of a generation have in common. */
interface Activities {
  /** Aborted with the generation. */
  ending: AbortController
  /** The signals that somebody has asked for. */
  running: Set<AbortController>
  /** Counts those that are not over, of all generations. */
  lineage: { active: number }
}

/**
 * One signal of the client's and the session's; none of the two keeps anything of it when it is over. It listens itself: a
 * function for each of the thousands that do would cost more than the listening.
 */
class RunningActivity implements Activity, EventListenerObject {
  readonly #client: Requester
  readonly #among: Activities
  #joined: AbortController | undefined
  #isOver = false

  constructor(client: Requester, among: Activities) {
    this.#client = client
    this.#among = among
    among.lineage.active++
  }

  get signal(): AbortSignal {
    this.#joined ??= this.#join()
    return this.#joined.signal
  }

  get aborted(): boolean {
    if (this.#joined) return this.#joined.signal.aborted
    return this.#among.ending.signal.aborted || this.#client.signal.aborted
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#among.lineage.active--
    if (!this.#joined) return
    this.#client.signal.removeEventListener('abort', this)
    this.#among.running.delete(this.#joined)
  }

  /** The client has gone. */
  handleEvent(): void {
    this.#joined?.abort(this.#client.signal.reason)
    this.end()
  }

  #join(): AbortController {
    const { ending, running } = this.#among
    const { signal } = this.#client
    const controller = new AbortController()
    if (ending.signal.aborted) controller.abort(ending.signal.reason)
    else if (signal.aborted) controller.abort(signal.reason)
    else if (!this.#isOver) {
      running.add(controller)
      signal.addEventListener('abort', this)
    }
    return controller
  }
}
