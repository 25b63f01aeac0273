// What a change is made with, from the session and the caller: the instant, and ids that repeat.
import type { Caller } from '../contract/record.ts'
import { ulidOf, uuidOf } from '../lib/ids.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Transaction } from './define.ts'

/** The work of one transaction; made inside it, so that its instant is that of the transaction. */
export function workOf({ clock, contents, name, records, seed }: Session, caller: Caller): Transaction {
  const now = clock.now()
  return {
    records,
    contents,
    caller,
    now: new Date(now).toISOString(),
    newId(form, kind) {
      const seq = records.nextNumber()
      const ulid = () => ulidOf(seed, now, `${name}:${kind}`, seq)
      const uuid = () => uuidOf(`${seed}:${name}:${kind}:${seq}`)
      return { seq, id: form.make({ ulid, uuid }) }
    },
  }
}
