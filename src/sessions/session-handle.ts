// Creates sessions and their generations: with the settings of the program, those of the creation, or those of a
// restored file.
import { ApiError } from '../contract/core/error.ts'
import type { HistoryMode } from '../contract/core/history-mode.ts'
import type { Instance } from '../contract/core/instance.ts'
import type { JobLimits } from '../contract/core/job-limits.ts'
import { openFile } from '../db/open.ts'
import type { RecordShapes } from '../db/record-shapes.ts'
import { lastInstant } from '../db/snapshot.ts'
import { type Clock, createRealClock, type LatencyMode, type TimeSettings } from '../lib/clock.ts'
import { processSecret } from '../lib/ids.ts'
import { VIRTUAL_START, type VirtualClock, virtualClock } from '../lib/virtual-clock.ts'
import {
  type DataLimits,
  type DataUsers,
  type Discard,
  fileData,
  loadedMemoryData,
  memoryData,
  resetError,
  type SessionData,
} from './data.ts'
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

/** The inputs of a session. */
interface SlotOptions
  extends Pick<SessionsOptions, 'instance' | 'noVirtualClock' | 'jobLimits'>,
    Pick<SlotParts, 'renewed' | 'discard'> {
  name: string
  seed: number
  time: TimeSettings
  approvals: Approvals
  history: HistoryMode | undefined
  isHome: boolean
  /** Whether it was created explicitly, and not by its first call. */
  made: boolean
  /** Its data; `now` returns the time of its clock. */
  data(now: () => number): SessionData
}

/** A session as its owner sees it. */
export interface OwnedSession extends SessionHandle {
  /** Number of calls and other activities in progress. */
  readonly active: number
  /** Whether its database is open. */
  readonly loaded: boolean
  /** Closes the database if it is idle. */
  sleep(): void
  /** Ends everything that runs, and detaches the data, which is freed with its last user. */
  forget(reason: ApiError): void
  close(): void
}

/** @throws ApiError 400 if the clock is not allowed */
function checkClock(kind: Clock['kind'], { noVirtualClock }: Pick<SlotOptions, 'noVirtualClock'>): void {
  if (kind === 'virtual' && noVirtualClock)
    throw new ApiError(400, 'clock_not_possible', `${noVirtualClock}: leave 'clock' out`, { param: 'clock' })
}

/** A clock with these settings. An existing one of that kind continues. */
function clockOf({ clock: kind, latency }: TimeSettings, before?: Session['clock']): Session['clock'] {
  if (kind === 'real') return before?.kind === 'real' ? before : createRealClock()
  const clock = before?.kind === 'virtual' ? before : virtualClock()
  clock.skipLatency(latency === 'skip')
  return clock
}

/** The time settings of a clock. */
const timeOf = (clock: Session['clock']): TimeSettings => ({
  clock: clock.kind,
  latency: clock.kind === 'virtual' && clock.skipsLatency ? 'skip' : 'real',
})

/** The inputs of a generation. */
interface Generation {
  clock: Session['clock']
  data: SessionData
  /** Those of the data, in all generations that have it. */
  users: DataUsers
}

/** State that all generations of a session share. */
interface Lineage extends Pick<SlotOptions, 'name' | 'seed' | 'approvals' | 'history' | 'isHome' | 'jobLimits'> {
  slot: SessionHandle
  /** Number of calls and other activities in progress. */
  active: number
}

/** A session with its first generation. */
function createSlot(options: SlotOptions): OwnedSession {
  const { time: ownTime, instance, data, renewed, discard } = options
  checkClock(ownTime.clock, options)
  const next = (change: Partial<Generation>, reason: ApiError): Session => {
    const before = current
    const { clock, data, users } = generation
    generation = { ...generation, ...change }
    current = beginGeneration(generation, lineage)
    before.end(reason)
    if (data !== generation.data) discard(data, users)
    if (clock !== generation.clock && clock.kind === 'virtual') clock.end(reason)
    renewed(current)
    return current
  }
  const nextGeneration = (data: SessionData, clock: Session['clock'], reason: ApiError): Session => {
    beginning.makeAnew()
    return next({ data, clock, users: { active: 0 } }, reason)
  }
  const handle: OwnedSession = {
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
    get loaded() {
      return generation.data.loaded
    },
    get problem() {
      return generation.data.problem
    },
    check: () => generation.data.check?.(),
    renew({ clock: kind = ownTime.clock, latency = ownTime.latency } = {}) {
      checkClock(kind, options)
      const clock = clockOf({ clock: kind, latency }, generation.clock)
      return next({ clock }, resetError('the scenario of the session changed'))
    },
    reset: async () =>
      nextGeneration(await generation.data.replaced(null), clockOf(timeOf(generation.clock)), resetError()),
    async replace(snapshot) {
      const data = await generation.data.replaced(snapshot)
      // Virtual time continues from the loaded data, whatever was before, so that the same calls have the same
      // responses again.
      const clock =
        generation.clock.kind === 'virtual' ? clockAfter(lastInstant(snapshot), generation.clock) : generation.clock
      return nextGeneration(data, clock, resetError('the data of the session was replaced'))
    },
    sleep: () => generation.data.sleep(),
    forget(reason) {
      current.end(reason)
      generation.data.leave()
      discard(generation.data, generation.users)
    },
    close() {
      current.end(resetError('the server was stopped'))
      generation.data.close()
    },
  }
  const lineage: Lineage = { ...options, slot: handle, active: 0 }
  let generation: Generation = {
    clock: clockOf(ownTime),
    data: data(() => generation.clock.now()),
    users: { active: 0 },
  }
  if (options.name !== DEFAULT_SESSION) generation.clock = continuedClock(generation)
  let current = beginGeneration(generation, lineage)
  const origin = options.made ? 'made' : generation.data.restored ? 'restored' : 'called'
  const beginning = beginningOf(origin, instance.named)
  return handle
}

/** The clock of restored data: virtual time continues from it. */
const continuedClock = ({ clock, data }: Generation): Session['clock'] =>
  data.restored && clock.kind === 'virtual' ? clockAfter(data.lastInstant(), clock) : clock

function clockAfter(instant: number, { skipsLatency }: VirtualClock): VirtualClock {
  const clock = virtualClock(Math.max(VIRTUAL_START, instant))
  clock.skipLatency(skipsLatency)
  return clock
}

/**
 * How a session started, whether it may lack calls, and whether that was announced; `isOneOfSeveral`: there are other
 * instances.
 */
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
    /** Its data is complete from now on. */
    makeAnew() {
      beginning.origin = 'made'
      hasMoved = false
      unsaid = undefined
    },
    announce() {
      const announced = unsaid
      unsaid = undefined
      return announced
    },
  }
  return beginning
}

/** A generation, and how to end it. */
interface EndingSession extends Session {
  /** Aborts everything that runs in it. */
  end(reason: ApiError): void
}

function beginGeneration({ clock, data, users }: Generation, lineage: Lineage): EndingSession {
  const { name, seed, approvals, history, isHome, jobLimits, slot } = lineage
  const { traces, keyValues, records, contents, sequences, keyedKinds, snapshot, counts } = data
  const ending = new AbortController()
  const running = new Set<AbortController>()
  const among = { ending, running, users, lineage }
  return {
    name,
    seed,
    approvals,
    history,
    isHome,
    clock,
    ...{ traces, keyValues, records, contents, sequences, keyedKinds, snapshot, counts },
    // A virtual clock does not skip a commit.
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

/** Settings that may differ between sessions. */
export interface SessionSettings {
  seed?: number | undefined
  clock?: TimeSettings['clock'] | undefined
  latency?: LatencyMode | undefined
  approvals?: Approvals | undefined
  history?: HistoryMode | undefined
}

/** Settings that all sessions share. */
export interface SessionsOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  /** Folder of the databases of all others; in memory if omitted. */
  folder?: string | undefined
  seed: number
  time: TimeSettings
  /** The process that they belong to. */
  instance: Instance
  /** Why no session may have a virtual clock; undefined if it is allowed. */
  noVirtualClock?: string | undefined
  /** Limits on the stored data of each session. */
  keep?: DataLimits | undefined
  /** The schemas of record bodies, by kind; any object if omitted. */
  shapes?: RecordShapes | undefined
  /** Maximum number of sessions. */
  most?: number | undefined
  /** Milliseconds of real time after which an unused session is dropped, never the default one; never if omitted. */
  ttl?: number | undefined
  /** Name of the session of programs that name none; default: the default session. */
  home?: string | undefined
  /** Milliseconds of real time. */
  realNow?: (() => number) | undefined
  /** The limits of their jobs in workers. */
  jobLimits?: JobLimits | undefined
}

/** The dependencies of sessions. */
interface SlotParts {
  empty: () => Buffer
  folder: SessionFolder | undefined
  opened(): void
  /** Called for each generation after the first. */
  renewed(session: Session): void
  /** Receives data that no generation has any more. */
  discard: Discard
}

/** Creates a session, whose settings may differ from the others. */
export function sessionHandleMaker(
  options: SessionsOptions,
  { empty, folder, opened, renewed, discard }: SlotParts,
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
  return (name, settings, made) => {
    checkName(name)
    // A transient session leaves no file.
    const restored =
      settings === 'called' ? (folder?.madeWith(name)?.session as SessionSettings | undefined) : undefined
    const ownSettings = typeof settings === 'object' ? settings : (restored ?? {})
    const { seed = options.seed, approvals = 'ask', history } = ownSettings
    const { clock = options.time.clock, latency = options.time.latency } = ownSettings
    return createSlot({
      ...{ name, seed, approvals, history, instance, noVirtualClock, jobLimits, renewed, discard },
      time: { clock, latency },
      isHome: name === (options.home ?? DEFAULT_SESSION),
      made: typeof settings === 'object',
      data: dataOf(name, settings === undefined, made),
    })
  }
}

/** Shared state of a generation's activities. */
interface Activities {
  /** Aborts with the generation. */
  ending: AbortController
  /** The requested signals. */
  running: Set<AbortController>
  /** Counts running ones, of all generations. */
  lineage: { active: number }
  /** The same for generations with the same data. */
  users: DataUsers
}

/**
 * One signal for the client and the session, which neither retains afterwards. The object itself is the listener: a
 * function for each of thousands would cost more than the listening.
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
    among.users.active++
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
    this.#among.users.active--
    if (!this.#joined) return
    this.#client.signal.removeEventListener('abort', this)
    this.#among.running.delete(this.#joined)
  }

  /** The client has disconnected. */
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
