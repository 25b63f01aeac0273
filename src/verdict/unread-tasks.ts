// Tasks that a client has given up: it has begun them, and has neither read their end nor canceled them.
import { isActive } from '../contract/agent-task.ts'
import { groupBy } from '../lib/group-by.ts'
import type { Behaviour, FindingDraft } from './kinds/define.ts'

/** What is said of a client that has not read what became of its tasks; all that ended in the same way is one finding. */
export function unreadIn({ unread, calls, end }: Behaviour): FindingDraft[] {
  // Who was stopped was about to read, for all that anybody knows.
  if (end === 'stopped') return []
  const callOf = new Map(calls.map((call) => [call.trace, call]))
  const known = unread.flatMap(({ trace, ...task }) => {
    const call = callOf.get(trace)
    // A client that has not ended may be about to read what is still at work.
    return call && !(end === undefined && isActive(task.state)) ? [{ call, ...task }] : []
  })
  return groupBy(known, ({ state }) => (isActive(state) ? 'working' : state)).map((tasks) => {
    const state = tasks[0]?.state ?? ''
    const many = tasks.length > 1
    const looks = Math.max(...tasks.map((task) => task.looks))
    const what = isActive(state)
      ? `${many ? `${tasks.length} tasks are` : 'a task is'} still at work, and nobody waits for ${many ? 'them' : 'it'} or has canceled ${many ? 'them' : 'it'}`
      : `nobody has read the end of ${many ? `${tasks.length} tasks` : 'a task'} (${state})`
    const looked =
      looks === 0
        ? 'never looked at'
        : `looked at ${looks} time${looks === 1 ? '' : 's'}${many ? ' at most' : ''} while at work`
    return {
      // Who has ended with a complaint may have failed at something else before it could read.
      severity: end === 'badly' ? ('warning' as const) : ('error' as const),
      message: `${what}; ${looked}`,
      calls: tasks.map(({ call }) => call),
      count: tasks.length,
      figures: { tasks: tasks.length, looks },
    }
  })
}
