// The context of a change, from the session and the caller: the instant, and ids that repeat.
import type { Caller } from '../contract/workspace/record.ts'
import { ulidOf, uuidOf } from '../lib/ids.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Transaction } from './define.ts'

/**
 * The context of one transaction. Create it inside, so that its instant is that of the transaction.
 * @param key distinguishes what it creates from everything else in the session: ids are then a function of it,
 *   independent of concurrent changes
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
