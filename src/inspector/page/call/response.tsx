// The response: as sent, event by event with times if it was a stream, and parsed.
import { useState } from 'preact/hooks'
import type { Exchange } from '../../../contract/core/exchange.ts'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { parsedJson } from '../../../lib/values.ts'
import { responseSayings, type Saying } from '../../../views/sayings.ts'
import { endText, eventsIn, responseHead, type SentEvent, textIn, visible } from '../../../views/wire-text.ts'
import { spanText } from '../state/format.ts'
import { Block, Table } from '../ui/layout.tsx'
import { Code, Json, useBeginning } from './json.tsx'

/** The tab. */
export function ResponseTab({ trace, exchange }: { trace: StoredTrace; exchange: Exchange }) {
  const [mode, setWay] = useState<Way>('wire')
  const modes = WAYS.filter(({ id }) => id !== 'events' || trace.stream)
  // An agent's turn and an internal call have a response, but no connection.
  if (exchange.ended === null) return <ParsedResponse trace={trace} note={NO_CONNECTION} />
  return (
    <>
      <fieldset class="choices">
        <legend class="hidden">Response format</legend>
        {modes.map(({ id, label }) => (
          <label key={id}>
            <input type="radio" name="way" checked={mode === id} onChange={() => setWay(id)} />
            {label}
          </label>
        ))}
      </fieldset>
      {mode === 'read' ? <ParsedResponse trace={trace} note={READ} /> : <Sent exchange={exchange} way={mode} />}
    </>
  )
}

const WAYS = [
  { id: 'wire', label: 'Raw' },
  { id: 'events', label: 'Events' },
  { id: 'read', label: 'Parsed' },
] as const
type Way = (typeof WAYS)[number]['id']

const NO_CONNECTION =
  'The wire data of this call was not stored: the call is internal, opted out of storage, or comes from an earlier version.'
const READ = 'Parsed by Understudy from the bytes sent. Select Raw to see those bytes.'

/** All sent bytes, and how the response ended. */
function Sent({ exchange, way: mode }: { exchange: Exchange; way: 'wire' | 'events' }) {
  const { response, ended } = exchange
  const pieces = response?.body ?? []
  const text = () => textIn(pieces)
  return (
    <>
      <p class={`callout ${ended === 'complete' ? '' : 'bad'}`} data-ended={ended}>
        {capital(endText(exchange))}.
      </p>
      {response?.body && mode === 'wire' && (
        <Block title="Response (raw)" copy={text}>
          <Code text={responseHead({ ...response, headers: null })} label="Response status" />
          <Code text={visible(text())} label="Raw response" />
        </Block>
      )}
      {response?.body && mode === 'events' && <EventTable data={eventsIn(pieces)} />}
      {response?.truncated && <p class="note">Truncated. Only the beginning of the body was stored.</p>}
    </>
  )
}

const capital = (text: string) => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`

/** Maximum number of events that are drawn at first. */
const MAX_DRAWN = 300

function EventTable({ data }: { data: readonly SentEvent[] }) {
  const { shown, more } = useBeginning(data, MAX_DRAWN, 'events')
  return (
    <>
      <div class="scrolls">
        <Table
          class="table events"
          caption="Events with their times from the start of the call"
          titles={['#At', '#Interval', 'Event']}
        >
          {shown.map(({ at_ms: at, text }, index) => {
            const before = data[index - 1]?.at_ms ?? 0
            return (
              <tr key={index}>
                <td class="number">{at === null ? '' : spanText(at)}</td>
                <td class="number note">{at === null || at === before ? '' : `+${spanText(at - before)}`}</td>
                <td class="mono" title={text}>
                  <EventText text={visible(text.trimEnd())} before={data[index - 1]?.text.trimEnd()} />
                </td>
              </tr>
            )
          })}
        </Table>
      </div>
      {more}
    </>
  )
}

/** Characters that are shown around the difference of an event. */
const AROUND = 22

/** Whether the data of an event can be parsed. */
function isSound(event: string): boolean {
  const data = event.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
  return data[0] === '[DONE]' || typeof parsedJson(data.join('\n')) === 'object'
}

/** An event: only the difference if it resembles the previous one; all of it if it cannot be parsed. */
function EventText({ text, before = '' }: { text: string; before: string | undefined }) {
  if (!isSound(text)) return <span class="unsound">{text}</span>
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

/** The response as Understudy parsed it; a stream is assembled. */
function ParsedResponse({ trace: { response: answer, error, stream }, note }: { trace: StoredTrace; note: string }) {
  return (
    <>
      <p class="note">{note}</p>
      {answer === null ? (
        error && <Json value={{ error }} label="Error" />
      ) : (
        <>
          <Sayings title="Response text" sayings={responseSayings(answer)} />
          <Block title={stream ? 'Response (assembled)' : 'Response'} copy={indented(answer)}>
            <Json value={answer} label="Response" />
          </Block>
        </>
      )}
    </>
  )
}

/** A value as formatted text. */
export const indented = (value: unknown) => () => JSON.stringify(value, null, 2)

/** Messages in order. */
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
