// Calls as they are made, for a list: the rows of a moment in one event. At thousands a second a row more or less is nothing to who
// looks, and everything to the calls: most are left out then, counted, and to be asked for when there is time.
import type { CallRow, CallsSaved } from '../contract/call-row.ts'
import type { CallMaterial, Observation, TraceSaved } from '../contract/observation.ts'
import { realClock } from '../lib/clock.ts'
import { dataEvent, type StreamEvent } from '../lib/sse.ts'
import type { Gathering } from '../observers/live.ts'
import { rowOf } from './call-row.ts'

/** Rows of one event; and as many again of calls that were not answered, which are what people look for. */
const MOST_ROWS = 100

/** A call whose row is made when rows are sent: it has been answered then, and waits for nothing. */
type SavedCall = Pick<TraceSaved, 'trace' | 'seq'> & Pick<CallRow, 'arrived'>

/** Gathers calls as rows; everything else is shown as it comes. */
export function liveRows(): Gathering {
  const underWay = new Map<string, string>()
  let saved: SavedCall[] = []
  let leftOut = 0
  let isDue = false
  const note = ({ seq, trace }: TraceSaved, call: CallMaterial | undefined) => {
    underWay.delete(trace.id)
    if (saved.length < (trace.outcome === 'answered' ? MOST_ROWS : 2 * MOST_ROWS))
      saved.push({ seq, trace, arrived: call?.arrived ?? realClock.now() })
    else leftOut++
  }
  const forget = (session: string) => {
    saved = saved.filter(({ trace }) => trace.session !== session)
    for (const [trace, name] of underWay) if (name === session) underWay.delete(trace)
  }
  return {
    get isDue() {
      return isDue
    },
    add(observation, call) {
      if (observation.type === 'attempt-ended') return undefined
      if (observation.type === 'call-begun') underWay.set(observation.trace, observation.session)
      else if (observation.type === 'call-lost') underWay.delete(observation.trace)
      else if (observation.type === 'trace-saved') note(observation, call)
      else return alone(observation)
      isDue = true
      return undefined
    },
    take() {
      const data: CallsSaved = {
        rows: saved.map(({ trace, ...of }) => rowOf(trace, of)),
        left_out: leftOut,
        under_way: underWay.size,
      }
      saved = []
      leftOut = 0
      isDue = false
      return dataEvent(data, { event: 'calls-saved' })
    },
  }

  function alone(observation: Exclude<Observation, TraceSaved>): StreamEvent {
    if (observation.type === 'session-changed' && ENDING.has(observation.change)) forget(observation.session)
    const { type: event } = observation
    return dataEvent(observation.type === 'task-changed' ? { ...observation, task: undefined } : observation, { event })
  }
}

/** Changes after which a session has none of the calls that it had. */
const ENDING: ReadonlySet<string> = new Set(['deleted', 'reset', 'replaced'])
