// What a change is made with, from the session and the caller: the instant, and ids that repeat.
import type { Caller } from '../contract/workspace/record.ts'
import { ulidOf, uuidOf } from '../lib/ids.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Transaction } from './define.ts'

/**
 * The work of one transaction; made inside it, so that its instant is that of the transaction.
 * @param key tells what it makes from all else in the session: ids are then functions of it, whatever is made beside it
 */
export function workOf({ clock, contents, name, records, seed }: Session, caller: Caller, key?: string): Transaction {
  const now = clock.now()
  return {
    records,
    contents,
    caller,
    now: new Date(now).toISOString(),
    newId(form, kind) {
      const seq = records.nextNumber()
      const purpose = key === undefined ? `${name}:${kind}` : `${name}:${kind}:${caller.workspace}:${key}`
      const count = key === undefined ? seq : 0
      const ulid = () => ulidOf(seed, now, purpose, count)
      const uuid = () => uuidOf(`${seed}:${purpose}:${count}`)
      return { seq, id: form.make({ ulid, uuid }) }
    },
  }
}
