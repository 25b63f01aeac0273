// Events: dispatched, and applied on the session's clock, those of one subject in order. They are stored with their
// cause, so that those of a killed process are applied by the next one.
import { Event } from '../../contract/workspace/feedback.ts'
import { EVENT, type Fields } from '../../contract/workspace/record.ts'
import type { Session } from '../../sessions/sessions.ts'
import { defineResource, type Reading, type Transaction } from '../define.ts'
import { createRecord, workOf } from '../verbs.ts'

/** Dispatched events, read-only (the specification, "Events"). */
export const events = defineResource({
  kind: EVENT,
  noun: 'event',
  tag: 'Emulator',
  path: '/_understudy/events',
  param: 'event_id',
  verbs: ['list', 'get'],
  descriptions: {
    list: 'The dispatched events, newest first, with their status and the reason of a failure.',
  },
  record: Event,
  // Only a waiting event has a key.
  key: 'waiting',
  show: ({ waiting: _, ...event }) => event,
})

/** The type, subject and data of a new event. */
interface NewEvent {
  type: string
  /** Events of one subject are applied in order, and do not wait for those of other subjects. */
  subject: string
  data: Fields
}

/** Queues an event, in the same transaction as its cause. */
export function dispatch(work: Transaction, { type, subject, data }: NewEvent): Fields {
  const waiting = String(work.records.nextNumber())
  const fields = { type, subject, status: 'dispatched', attempts: 0, error: null, data, applied_at: null, waiting }
  return createRecord(events, work, fields)
}

/** Data of the waiting events of a type, oldest first. */
export const waitingData = ({ records, caller }: Reading, type: string): Fields[] =>
  records
    .keyed(events.kind)
    .filter(({ workspace, body }) => workspace === caller.workspace && body.type === type)
    .map(({ body }) => body.data as Fields)

/** Does slow work, and returns the changes that are then made together with the event's status. */
export type EventHandler = (
  data: Fields,
  session: Session,
  work: () => Transaction,
) => Promise<(work: Transaction) => void>

/** Attempts for one event before it has failed. */
export const MAX_ATTEMPTS = 5
/** Wait before the second attempt, in ms of the session's clock, doubled before each further one. */
const FIRST_WAIT_MS = 100

type WaitingEvent = { workspace: string; body: Fields }
const subjectOf = ({ workspace, body }: WaitingEvent) => `${workspace}:${body.subject ?? body._id}`

/** The waiting events of a session, by subject, oldest first. */
interface SessionQueue {
  ids: Set<string>
  bySubject: Map<string, WaitingEvent[]>
}

/** A queue with a handler for each type of event. */
export function createEventQueue(handlers: Record<string, EventHandler>, report: (error: unknown) => void) {
  const queues = new WeakMap<Session, SessionQueue>()
  const counts = { waiting: 0, failed: 0 }

  /** Applies the events of a subject until none is left. */
  const run = async (session: Session, subject: string, waiting: WaitingEvent[]) => {
    for (let [event] = waiting; event; [event] = waiting) {
      await session.clock.sleep(0, session.ended)
      const { body, cause } = await tryEvent(session, event, handlers)
      if (body.status === 'failed') {
        counts.failed++
        report(new Error(`the event ${body._id} (${body.type}) has failed: ${body.error}`, { cause }))
      }
      if (body.status === 'dispatched') {
        Object.assign(event, { body })
        await session.clock.sleep(waitAfter(event), session.ended)
      } else forget(session, waiting.splice(0, 1))
    }
    queues.get(session)?.bySubject.delete(subject)
  }
  const forget = (session: Session, events: readonly WaitingEvent[]) => {
    counts.waiting -= events.length
    for (const { body } of events) queues.get(session)?.ids.delete(String(body._id))
  }
  const add = (session: Session, { ids: known, bySubject }: SessionQueue, event: WaitingEvent) => {
    const id = String(event.body._id)
    if (known.has(id)) return
    known.add(id)
    counts.waiting++
    const subject = subjectOf(event)
    const waiting = bySubject.get(subject)
    if (waiting) return void waiting.push(event)
    const begun = [event]
    bySubject.set(subject, begun)
    run(session, subject, begun).catch((error) => {
      if (bySubject.get(subject) === begun) bySubject.delete(subject)
      forget(session, begun)
      if (!session.ended.aborted) report(error)
    })
  }
  return {
    /** Applies the waiting events of a session. */
    wake(session: Session): void {
      const queue = queues.getOrInsertComputed(session, () => ({ ids: new Set(), bySubject: new Map() }))
      for (const event of session.records.keyed(events.kind)) add(session, queue, event)
    },
    /** Number of events that are waiting or being applied, and of failed ones, since the start. */
    counts: () => ({ ...counts }),
  }
}

/** Applies the events of sessions. */
export type EventQueue = ReturnType<typeof createEventQueue>

/** Tries to apply an event, and stores the result: the event's new state, and the error if it failed. */
async function tryEvent(
  session: Session,
  { workspace, body }: WaitingEvent,
  handlers: Record<string, EventHandler>,
): Promise<{ body: Fields; cause?: unknown }> {
  const workNow = () => workOf(session, { workspace, user: String(body.created_by_id) })
  try {
    const apply = await handlers[String(body.type)]?.(body.data as Fields, session, workNow)
    const change = () => {
      const work = workNow()
      return note(work, { ...body, status: 'applied', applied_at: work.now }, apply)
    }
    return { body: await session.transact(change) }
  } catch (error) {
    if (session.ended.aborted) throw error
    const attempts = Number(body.attempts ?? 0) + 1
    const status = attempts < MAX_ATTEMPTS ? 'dispatched' : 'failed'
    const why = error instanceof Error ? error.message : String(error)
    const change = () => note(workNow(), { ...body, status, attempts, error: why })
    return { body: await session.transact(change), cause: error }
  }
}

const waitAfter = ({ body }: WaitingEvent): number => FIRST_WAIT_MS * 2 ** (Number(body.attempts) - 1)

/** Stores the result of an event with its changes. A finished event waits no more. */
function note(work: Transaction, event: Fields, apply?: (work: Transaction) => void): Fields {
  const id = String(event._id)
  // The session may have been reset meanwhile.
  if (!work.records.get(events.kind, work.caller.workspace, id)) return { ...event, status: 'applied' }
  apply?.(work)
  const { waiting, ...finished } = { ...event, updated: work.now } as Fields
  const again = event.status === 'dispatched'
  work.records.update(id, { key: again ? String(waiting) : null, body: again ? { ...finished, waiting } : finished })
  return event
}
