// Makes the slots of sessions: with the settings of the program, those that a session is made with, or those that it was left with.
import type { Instance } from '../contract/instance.ts'
import { openClone, openFile } from '../db/open.ts'
import type { RecordShapes } from '../db/record-shapes.ts'
import type { LatencyMode, TimeSettings } from '../lib/clock.ts'
import type { JobLimits } from '../lib/worker/limits.ts'
import { fileData, memoryData, type SessionData } from './data.ts'
import type { MadeWith, SessionFolder } from './folder.ts'
import { checkName } from './refusals.ts'
import { type Approvals, DEFAULT_SESSION, type Session } from './session.ts'
import { createSlot, type OwnedSlot } from './slot.ts'
import type { DataLimits } from './stores.ts'

/** What a session may have otherwise than the others. */
export interface SessionSettings {
  seed?: number | undefined
  clock?: TimeSettings['clock'] | undefined
  latency?: LatencyMode | undefined
  approvals?: Approvals | undefined
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
const settingsIn = (made: MadeWith | undefined) => made?.session as SessionSettings | undefined

/** Makes a session of a name, which may be otherwise than the others. */
export function slotMaker(
  options: SessionsOptions,
  { empty, folder, opened, renewed }: SlotParts,
): (name: string, settings?: SessionSettings | 'called', made?: MadeWith) => OwnedSlot {
  const { db, instance, keep = {}, shapes, noVirtualClock, jobLimits } = options
  const dataOf =
    (name: string, looked: boolean, made: MadeWith | undefined) =>
    (now: () => number): SessionData => {
      if (name !== DEFAULT_SESSION && folder && !looked) return folder.data(name, { keep, now, shapes }, made)
      if (name !== DEFAULT_SESSION) return memoryData(empty, { keep, now, shapes, opened })
      const database =
        db === ':memory:' ? { database: openClone(empty()), restored: false, release: () => {} } : openFile(db)
      return fileData(database, { keep, now, shapes })
    }
  return (name, settings, made) => {
    checkName(name)
    // One that is looked at alone leaves no file.
    const given = typeof settings === 'object' ? settings : (settings && settingsIn(folder?.madeWith(name))) || {}
    const { seed = options.seed, approvals = 'ask' } = given
    const { clock = options.time.clock, latency = options.time.latency } = given
    const isHome = name === (options.home ?? DEFAULT_SESSION)
    return createSlot({
      name,
      seed,
      time: { clock, latency },
      approvals,
      isHome,
      isDefault: name === DEFAULT_SESSION,
      instance,
      made: typeof settings === 'object',
      data: dataOf(name, settings === undefined, made),
      noVirtualClock,
      jobLimits,
      renewed,
    })
  }
}
