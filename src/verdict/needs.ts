// What a scenario needs of the calls under it before it can prove anything, such as several calls or a stream.
import type { TraceRecord } from '../contract/trace.ts'
import type { Scenario } from '../scenarios/engine.ts'

/** What a session shows of the calls that were made under a scenario. */
interface NeedEvidence {
  /** The calls that the client made, in the order in which they began. */
  traces: readonly TraceRecord[]
  /** When the scenario began, in ms since the epoch on the session's clock. */
  started: number
}

type Needs = NonNullable<Scenario['needs']>
/** Says what is missing where a need is not met; undefined where it is. */
type Need<Wanted> = (wanted: Wanted, evidence: NeedEvidence) => string | undefined

const callsWith =
  (text: string, isLike: (trace: TraceRecord) => boolean): Need<true> =>
  (_, { traces }) =>
    traces.some(isLike) ? undefined : text

const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`

/** All needs, by their key in the file. */
const NEEDS: { readonly [Key in keyof Required<Needs>]: Need<NonNullable<Needs[Key]>> } = {
  calls: (wanted, { traces }) =>
    traces.length >= wanted ? undefined : `at least ${wanted} calls, and the session made ${traces.length}`,
  elapsed(wanted, { traces, started }) {
    const last = traces.at(-1)
    const passed = last ? Date.parse(last.started_at) - started : 0
    return passed >= wanted
      ? undefined
      : `${seconds(wanted)} on the session's clock, and its last call came after ${seconds(passed)}`
  },
  stream: callsWith('a streamed call', ({ stream }) => stream),
  agent: callsWith('a task of an agent', ({ task }) => task !== undefined),
  gateway: callsWith(
    'a call with gateway options, such as retry or fallbacks, in its body',
    ({ route }) => route === 'gateway',
  ),
}

/**
 * Why the calls of a session cannot prove anything about this scenario, such as `this scenario needs a streamed call`;
 * empty when it has what it needs.
 */
export function unmetNeeds({ needs = {} }: Pick<Scenario, 'needs'>, evidence: NeedEvidence): string[] {
  const missing = <Key extends keyof Needs>(key: Key) => {
    const wanted = needs[key]
    return wanted === undefined ? undefined : NEEDS[key](wanted as NonNullable<Needs[Key]>, evidence)
  }
  return (Object.keys(NEEDS) as (keyof Needs)[]).flatMap((key) => {
    const text = missing(key)
    return text === undefined ? [] : [`this scenario needs ${text}`]
  })
}
