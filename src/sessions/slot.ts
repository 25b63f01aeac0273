// Makes the generations of a session, one after another.

import { ApiError } from '../contract/error.ts'
import type { Instance } from '../contract/instance.ts'
import { lastInstant, type Snapshot } from '../db/snapshot.ts'
import { type Clock, realClock, type TimeSettings, type VirtualClock } from '../lib/clock.ts'
import { processSecret } from '../lib/ids.ts'
import { VIRTUAL_START, virtualClock } from '../lib/virtual-clock.ts'
import type { JobLimits } from '../lib/worker/limits.ts'
import { RunningActivity } from './activity.ts'
import { resetError, type SessionData } from './data.ts'
import type { Approvals, Session, SessionGap, SessionOrigin, SessionSlot } from './session.ts'

/** What a session is made of. */
interface SlotOptions {
  name: string
  seed: number
  time: TimeSettings
  approvals: Approvals
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
}

/** A session that is kept. */
export interface OwnedSlot extends SessionSlot {
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
  isHome: boolean
  jobLimits?: JobLimits | undefined
  slot: SessionSlot
  /** Calls and other work under way. */
  active: number
}

/** A session of a name, with its first generation. */
export function createSlot(options: SlotOptions): OwnedSlot {
  const { time: ownTime, instance, data, noVirtualClock, renewed } = options
  checkClock(ownTime.clock, noVirtualClock)
  const next = (change: Partial<Generation>, reason: ApiError): Session => {
    const before = current
    const { clock } = generation
    generation = { ...generation, ...change }
    current = beginGeneration(generation, lineage)
    before.end(reason)
    if (clock !== generation.clock && clock.kind === 'virtual') clock.end(reason)
    renewed(current)
    return current
  }
  const anew = (data: SessionData, clock: Session['clock'], reason: ApiError): Session => {
    beginning.makeAnew()
    return next({ data, clock }, reason)
  }
  const slot: OwnedSlot = {
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
      const clock = generation.clock.kind === 'virtual' ? clockAfter(snapshot, generation.clock) : generation.clock
      return anew(data, clock, resetError('the data of the session was replaced'))
    },
    sleep: () => generation.data.sleep(),
    forget: (reason) => current.end(reason),
    leave: () => generation.data.leave(),
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
  data.restored && clock.kind === 'virtual' ? clockAfter(data.snapshot(), clock) : clock

function clockAfter(snapshot: Snapshot, { skipsLatency }: VirtualClock): VirtualClock {
  const clock = virtualClock(Math.max(VIRTUAL_START, lastInstant(snapshot)))
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
  const { name, seed, approvals, isHome, jobLimits, slot } = lineage
  const ending = new AbortController()
  const running = new Set<AbortController>()
  const among = { ending, running, lineage }
  return {
    name,
    seed,
    approvals,
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
