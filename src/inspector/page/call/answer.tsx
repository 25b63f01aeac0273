// What was answered: in words, event by event with times where it was a stream, and as it was on the wire.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { SentEvents } from '../../../contract/sent-events.ts'
import type { StoredTrace } from '../../../contract/trace.ts'
import { askJson } from '../state/api.ts'
import { countText, spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { CopyButton } from '../ui/copy.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { Code, Json } from './json.tsx'
import { answeredIn, type Saying } from './texts.ts'

/** The tab. */
export function AnswerTab({ trace }: { trace: StoredTrace }) {
  return trace.stream ? <StreamTab key={trace.id} trace={trace} /> : <WholeAnswer trace={trace} />
}

const WAYS = { text: 'Text', events: 'Events', raw: 'Raw' } as const
type Way = keyof typeof WAYS

function StreamTab({ trace }: { trace: StoredTrace }) {
  const [way, setWay] = useState<Way>('text')
  return (
    <>
      <fieldset class="choices">
        <legend class="hidden">How the stream is shown</legend>
        {(Object.keys(WAYS) as Way[]).map((one) => (
          <label key={one}>
            <input type="radio" name="way" checked={one === way} onChange={() => setWay(one)} />
            {WAYS[one]}
          </label>
        ))}
      </fieldset>
      {way === 'text' ? <WholeAnswer trace={trace} /> : <Events trace={trace} raw={way === 'raw'} />}
    </>
  )
}

async function loadEvents({ id, session }: StoredTrace): Promise<SentEvents | undefined> {
  if (reportData) return reportData.calls[id]?.events
  return askJson<SentEvents>(`/_understudy/traces/${encodeURIComponent(id)}/events`, { session })
}

const FROM: Record<SentEvents['source'], string> = {
  kept: 'As the gateway sent it',
  answer: 'As the gateway sent it, made again from the answer',
  none: '',
}

function Events({ trace, raw }: { trace: StoredTrace; raw: boolean }) {
  const { value, error } = useLoaded(() => loadEvents(trace), [trace.id])
  if (error !== undefined) return <p class="callout bad">{error}</p>
  if (!value) return reportData ? <p class="note">This report holds no events.</p> : <p class="note">Loading …</p>
  const { source, count, data } = value
  if (source === 'none') return <p class="note">The events of this answer were not kept; its text was.</p>
  const text = () => data.map((one) => `${one.text}\n\n`).join('')
  const acted = trace.faults.length > 0 ? `; faults on the way to the client: ${trace.faults.join(', ')}` : ''
  return (
    <>
      <p class="note">
        {FROM[source]}, {countText(count)} events
        {data.length < count && `, the first ${countText(data.length)} of them`}
        {acted}.
      </p>
      {raw ? (
        <Block title="On the wire" copy={text}>
          <Code text={text()} label="Answer on the wire" />
        </Block>
      ) : (
        <EventTable data={data} />
      )}
    </>
  )
}

/** Events that are drawn before somebody asks for the rest. */
const MOST_DRAWN = 300

function EventTable({ data }: Pick<SentEvents, 'data'>) {
  const [all, setAll] = useState(false)
  const shown = all ? data : data.slice(0, MOST_DRAWN)
  return (
    <>
      <div class="scrolls">
        <table class="table events">
          <caption class="hidden">Events with their times from the start of the call</caption>
          <thead>
            <tr>
              <th class="number">At</th>
              <th class="number">After</th>
              <th>Event</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ at_ms: at, text }, index) => {
              const before = data[index - 1]?.at_ms ?? 0
              return (
                <tr key={index}>
                  <td class="number">{at === null ? '' : spanText(at)}</td>
                  <td class="number note">{at === null || at === before ? '' : `+${spanText(at - before)}`}</td>
                  <td class="mono" title={text}>
                    <EventText text={text} before={data[index - 1]?.text} />
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      {shown.length < data.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {countText(data.length)} events
        </button>
      )}
    </>
  )
}

/** Characters that are shown around what is new in an event. */
const AROUND = 22

/** An event: of one that is much like the one before, what is new. */
function EventText({ text, before = '' }: { text: string; before: string | undefined }) {
  const shared = Math.min(text.length, before.length)
  let head = 0
  while (head < shared && text[head] === before[head]) head++
  let tail = 0
  while (tail < shared - head && text.at(-1 - tail) === before.at(-1 - tail)) tail++
  if (head + tail < text.length / 2) return <>{text}</>
  const end = text.length - tail
  const [from, to] = [Math.max(0, head - AROUND), Math.min(text.length, end + AROUND)]
  return (
    <>
      <span class="note">
        {from > 0 && '…'}
        {text.slice(from, head)}
      </span>
      {text.slice(head, end)}
      <span class="note">
        {text.slice(end, to)}
        {to < text.length && '…'}
      </span>
    </>
  )
}

function WholeAnswer({ trace: { answer, error, stream } }: { trace: StoredTrace }) {
  if (answer === null) {
    return error ? <Json value={{ error }} label="Error" /> : <p class="note">Nothing of the answer was kept.</p>
  }
  return (
    <>
      <Sayings title="What was answered" sayings={answeredIn(answer)} />
      <Block title={stream ? 'Answer, its stream put together again' : 'Answer'} copy={indented(answer)}>
        <Json value={answer} label="Answer" />
      </Block>
    </>
  )
}

/** A value as text that people read. */
export const indented = (value: unknown) => () => JSON.stringify(value, null, 2)

/** What somebody said, in order. */
export function Sayings({ title, sayings }: { title: string; sayings: readonly Saying[] }) {
  if (sayings.length === 0) return null
  return (
    <section class="sayings" aria-label={title}>
      {sayings.map(({ role, text }, index) => (
        <div key={index} class={`saying ${role}`}>
          <span class="role">{role}</span>
          <div class="text">{text}</div>
        </div>
      ))}
    </section>
  )
}

/** A part with a title, and a button that copies it. */
export function Block({ title, children, copy }: { title: string; children: ComponentChildren; copy?: () => string }) {
  return (
    <section class="block">
      <header>
        <h3>{title}</h3>
        {copy && <CopyButton text={copy} />}
      </header>
      {children}
    </section>
  )
}
