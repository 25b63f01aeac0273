// gave-up: a request that never got an answer, though it might have been asked again.
import { groupBy } from '../../lib/group-by.ts'
import { brokeOff, type ClientCall, natureOf } from '../client-call.ts'
import { type Behaviour, endOf, type FindingDefinition, times } from './define.ts'

export const gaveUp: FindingDefinition = {
  kind: 'gave-up',
  find: (behaviour) =>
    groupBy(unanswered(behaviour), (chain) => keyOf(chain.at(-1))).map((chains) => {
      const lasts = chains.flatMap((chain) => chain.slice(-1))
      const tries = Math.max(...chains.map(({ length }) => length))
      const [last] = lasts
      // Equal streams that break may as well be requests of their own, of a client that says what became of them.
      const perhaps = behaviour.end !== 'well' && lasts.every(brokeOff)
      return {
        severity: perhaps ? 'warning' : 'error',
        message: `${chains.length === 1 ? 'a request' : `${chains.length} requests`} never got an answer: tried ${times(tries)}${chains.length === 1 ? '' : ' at most'}, the last one ended with ${last ? endOf(last) : ''}`,
        calls: chains.flat(),
        count: chains.length,
        figures: { requests: chains.length, tries },
      }
    }),
}

/** What goes wrong in the same way is one finding. */
const keyOf = (last: ClientCall | undefined): string => (last ? `${last.operation} ${endOf(last)}` : '')

const unanswered = ({ pairing, end }: Behaviour) =>
  pairing.chains.filter((chain) => {
    const last = chain.at(-1)
    if (last === undefined || natureOf(last) !== 'retryable' || isSwallowed(chain)) return false
    // Who has a part of an answer and ends with a complaint has told somebody.
    return !(end === 'badly' && brokeOff(last))
  })

/** A stream that broke off and was never asked for again, which is another finding. */
export const isSwallowed = ([first, ...more]: readonly ClientCall[]): boolean =>
  first !== undefined && more.length === 0 && brokeOff(first)
