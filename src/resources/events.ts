// Events: what was dispatched, and is applied in its turn on the session's clock. They are stored with what caused them,
// so those that a killed process left are applied by the next one.
import { Event } from '../contract/feedback.ts'
import { EVENT, type Fields } from '../contract/record.ts'
import { ulidForm } from '../contract/workspace.ts'
import type { Session } from '../sessions/sessions.ts'
import { defineResource, type Transaction } from './define.ts'
import { createRecord } from './verbs.ts'
import { workOf } from './work.ts'

export const events = defineResource({
  kind: EVENT,
  noun: 'event',
  plural: 'events',
  tag: 'Emulator',
  path: '/_understudy/events',
  param: 'event_id',
  id: ulidForm,
  verbs: ['list', 'get'],
  descriptions: { list: 'What was dispatched, newest first, and whether it has been applied yet.' },
  record: Event,
  // Only an event that waits for its turn has a key.
  key: 'waiting',
  show: ({ waiting: _, ...event }) => event,
})

/** Puts an event into the queue; it belongs to the same transaction as what it tells of. */
export function dispatch(work: Transaction, type: string, data: Fields): Fields {
  const waiting = String(work.records.nextNumber())
  return createRecord(events, work, { type, status: 'dispatched', data, applied_at: null, waiting })
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

/** Applies the events of sessions, one after another each. */
export interface EventQueue {
  /** Looks whether a session has events that wait, and applies them. */
  wake(session: Session): void
}

/** A queue with a handler for each type of event. */
export function createEventQueue(handlers: Record<string, EventHandler>, report: (error: unknown) => void): EventQueue {
  const working = new WeakSet<Session>()
  const run = async (session: Session) => {
    for (;;) {
      const [next] = session.records.keyed(events.kind)
      if (!next) {
        working.delete(session)
        return
      }
      const { workspace, body } = next
      const workNow = () => workOf(session, { workspace, user: String(body.created_by_id) })
      await session.clock.sleep(0, session.ended)
      const apply = await handlers[String(body.type)]?.(body.data as Fields, session, workNow)
      await session.transact(() => applied(workNow(), body, apply))
    }
  }
  return {
    wake(session) {
      if (working.has(session)) return
      working.add(session)
      run(session).catch((error) => {
        working.delete(session)
        if (!session.ended.aborted) report(error)
      })
    },
  }
}

function applied(work: Transaction, event: Fields, apply: ((work: Transaction) => void) | undefined): void {
  const id = String(event._id)
  // The session may have been emptied in the meantime.
  if (!work.records.get(events.kind, work.caller.workspace, id)) return
  apply?.(work)
  const { waiting: _, ...rest } = event
  const body = { ...rest, status: 'applied', applied_at: work.now, updated: work.now }
  work.records.update(id, { key: null, body })
}
