// Two calls compared: their timelines on one scale, and what differs in their requests and responses.

import type { Exchange } from '../../../contract/core/exchange.ts'
import { outcomeText } from '../../../contract/core/outcome-text.ts'
import type { WaterfallRow } from '../../../contract/core/waterfall.ts'
import { endText, textIn, visible } from '../../../views/wire-text.ts'
import type { ReportCall } from '../../report-data.ts'
import { axisOf } from '../call/axis.ts'
import { loadCall } from '../call/detail.tsx'
import { callClock, WaterfallChart } from '../call/waterfall.tsx'
import { allCalls, callOf, calmChanges } from '../state/call-list.ts'
import { clockText, spanText } from '../state/format.ts'
import { hashOf, here, narrow } from '../state/route.ts'
import { TextDiff } from '../ui/editor.tsx'
import { useLoaded } from '../ui/loaded.ts'

/** Number of calls to choose from: the newest. */
const OFFERED = 200

/** The view. */
export function CompareView() {
  const { params } = here.value
  const [one, other] = [params.get('a'), params.get('b')]
  const pair = useLoaded(
    async () => (one && other ? await Promise.all([loadCall(one), loadCall(other)]) : undefined),
    [one, other],
  )
  return (
    <div class="page wide">
      <h1>Compare two calls</h1>
      <div class="pair">
        <CallChoice name="a" label="Call A" chosen={one} />
        <CallChoice name="b" label="Call B" chosen={other} />
      </div>
      {!(one && other) && (
        <p class="note">
          Choose two calls here, or select two rows in the <a href={hashOf('calls')}>list of calls</a>.
        </p>
      )}
      {pair.error !== undefined && <p class="callout bad">{pair.error}</p>}
      {pair.value && <Pair one={pair.value[0]} other={pair.value[1]} />}
    </div>
  )
}

function CallChoice({ name, label, chosen }: { name: 'a' | 'b'; label: string; chosen: string | null }) {
  calmChanges.value
  const newest = allCalls().slice(-OFFERED).reverse()
  const own = chosen === null ? undefined : callOf(chosen)
  const offered = own && !newest.includes(own) ? [own, ...newest] : newest
  return (
    <label class="field">
      <span>{label}</span>
      <select value={chosen ?? ''} onChange={(event) => narrow({ [name]: event.currentTarget.value })}>
        <option value="">Select a call</option>
        {offered.map(({ id, arrived, status, model, outcome, session, prompt, requested_model: requested }) => (
          <option key={id} value={id}>
            {clockText(arrived)} · {status} {outcomeText(outcome)} · {prompt?.slice(0, 40) ?? '(no prompt)'} ·{' '}
            {requested ?? model ?? '(no model)'} · {session}
          </option>
        ))}
      </select>
    </label>
  )
}

const timelineText = (rows: readonly WaterfallRow[]) =>
  rows
    .filter(({ lane }) => lane !== 'client')
    .map(({ title, subject, detail, notes, error, depth }) =>
      [
        `${'  '.repeat(depth)}${[title, subject].filter(Boolean).join(' ')}: ${detail}`,
        ...notes.filter((note) => !note.startsWith('request ')),
      ]
        .concat(error ?? [])
        .join(', '),
    )
    .join('\n')
const textOf = (value: unknown) => JSON.stringify(value, null, 2) ?? 'null'

/** All bytes of the response, and how it ended. */
const sentText = (exchange: Exchange) =>
  [
    ...(exchange.response
      ? [`HTTP ${exchange.response.status}\n\n${visible(textIn(exchange.response.body ?? []))}`]
      : []),
    endText(exchange),
  ].join('\n')

/** What is compared. */
const PARTS: readonly [string, (call: ReportCall) => string][] = [
  ['Timeline', ({ waterfall }) => timelineText(waterfall.rows)],
  ['Request (parsed)', ({ trace }) => textOf(trace.request)],
  ['Response (parsed)', ({ trace }) => textOf(trace.response ?? trace.error)],
  ['Response (raw)', ({ exchange }) => sentText(exchange)],
]

function Pair({ one, other }: { one: ReportCall; other: ReportCall }) {
  // One scale for both, so that durations can be compared visually.
  const axis = axisOf({
    rows: [...one.waterfall.rows, ...other.waterfall.rows],
    from: Math.min(one.waterfall.from, other.waterfall.from),
    to: Math.max(one.waterfall.to, other.waterfall.to),
  })
  return (
    <>
      {[one, other].map(({ trace, waterfall }, index) => (
        <section key={index} class="card" aria-label={index === 0 ? 'Call A' : 'Call B'}>
          <header>
            <h2>
              {index === 0 ? 'A' : 'B'}: {trace.status} {outcomeText(trace.outcome)} in {spanText(trace.duration_ms)}
            </h2>
            <a class="prompt" href={hashOf('calls', { call: trace.id })}>
              {callOf(trace.id)?.prompt ?? trace.name}
            </a>
          </header>
          <WaterfallChart waterfall={waterfall} route={trace.route} clock={callClock(trace.id)} axis={axis} />
        </section>
      ))}
      {PARTS.map(([name, partOf]) => [name, partOf(one), partOf(other)] as const).map(([name, before, after]) => (
        <section key={name} class="card" aria-label={name}>
          <header>
            <h2>{name}</h2>
            {before === after && <span class="note">identical</span>}
          </header>
          {before !== after && <TextDiff name={name} before={before} after={after} />}
        </section>
      ))}
    </>
  )
}
