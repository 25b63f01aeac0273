// Events: what was dispatched, and is applied on the session's clock, those of one subject in turn. They are stored with what
// caused them, so those that a killed process left are applied by the next one.
import { Event } from '../../contract/workspace/feedback.ts'
import { EVENT, type Fields } from '../../contract/workspace/record.ts'
import { ulidForm } from '../../contract/workspace/shared.ts'
import type { Session } from '../../sessions/sessions.ts'
import { defineResource, type Transaction } from '../define.ts'
import { createRecord } from '../verbs.ts'
import { workOf } from '../work.ts'

/** Dispatched events, read-only (the specification, "Events"). */
export const events = defineResource({
  kind: EVENT,
  noun: 'event',
  plural: 'events',
  tag: 'Emulator',
  path: '/_understudy/events',
  param: 'event_id',
  id: ulidForm,
  verbs: ['list', 'get'],
  descriptions: {
    list: 'The dispatched events, newest first, with their status and the reason of a failure.',
  },
  record: Event,
  // Only an event that waits for its turn has a key.
  key: 'waiting',
  show: ({ waiting: _, ...event }) => event,
})

/** What an event is about, and what it says. */
interface NewEvent {
  type: string
  /** Events of one subject are applied in their order; others do not wait for them. */
  subject: string
  data: Fields
}

/** Puts an event into the queue; it belongs to the same transaction as what caused it. */
export function dispatch(work: Transaction, { type, subject, data }: NewEvent): Fields {
  const waiting = String(work.records.nextNumber())
  const fields = { type, subject, status: 'dispatched', attempts: 0, error: null, data, applied_at: null, waiting }
  return createRecord(events, work, fields)
}

/** Data of the events of a type that wait for their turn, oldest first. */
export const waitingData = ({ records, caller }: Pick<Transaction, 'records' | 'caller'>, type: string): Fields[] =>
  records
    .keyed(events.kind)
    .filter(({ workspace, body }) => workspace === caller.workspace && body.type === type)
    .map(({ body }) => body.data as Fields)

/** Does what takes time, and gives the changes that then are made together with the note that the event is applied. */
export type EventHandler = (
  data: Fields,
  session: Session,
  work: () => Transaction,
) => Promise<(work: Transaction) => void>

/** Applies the events of sessions. */
export interface EventQueue {
  /** Looks whether a session has events that wait, and applies them. */
  wake(session: Session): void
  /** How many events are waiting or being applied, and how many have failed, since the start. */
  counts(): { waiting: number; failed: number }
}

/** Tries of one event before it has failed. */
export const MAX_ATTEMPTS = 5
/** Wait before the second try, in ms of the session's clock; doubled before each further one. */
const FIRST_WAIT_MS = 100

type WaitingEvent = { workspace: string; body: Fields }
const subjectOf = ({ workspace, body }: WaitingEvent) => `${workspace}:${body.subject ?? body._id}`

/** The events of a session that are known to wait, by subject, oldest first. */
interface SessionQueue {
  known: Set<string>
  bySubject: Map<string, WaitingEvent[]>
}

/** A queue with a handler for each type of event. */
export function createEventQueue(handlers: Record<string, EventHandler>, report: (error: unknown) => void): EventQueue {
  const queues = new WeakMap<Session, SessionQueue>()
  const counts = { waiting: 0, failed: 0 }

  /** Applies the events of a subject until none waits. */
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
    for (const { body } of events) queues.get(session)?.known.delete(String(body._id))
  }
  const add = (session: Session, { known, bySubject }: SessionQueue, event: WaitingEvent) => {
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
    wake(session) {
      const queue = queues.get(session) ?? { known: new Set(), bySubject: new Map() }
      queues.set(session, queue)
      for (const event of session.records.keyed(events.kind)) add(session, queue, event)
    },
    counts: () => ({ ...counts }),
  }
}

/** Tries to apply an event, and notes what came of it: the event as it is then, and why it failed if it did. */
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

/** Writes what came of an event, with the changes that it makes; one that is over waits no more. */
function note(work: Transaction, event: Fields, apply?: (work: Transaction) => void): Fields {
  const id = String(event._id)
  // The session may have been emptied in the meantime.
  if (!work.records.get(events.kind, work.caller.workspace, id)) return { ...event, status: 'applied' }
  apply?.(work)
  const { waiting, ...over } = { ...event, updated: work.now } as Fields
  const again = event.status === 'dispatched'
  work.records.update(id, { key: again ? String(waiting) : null, body: again ? { ...over, waiting } : over })
  return event
}
