// One call: its timeline, request and response, and the files generated from it.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { GeneratedFiles } from '../../../contract/core/control-answers.ts'
import type { Exchange } from '../../../contract/core/exchange.ts'
import { outcomeText } from '../../../contract/core/outcome-text.ts'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { capital } from '../../../lib/units.ts'
import { parsedJson } from '../../../lib/values.ts'
import { curlOf } from '../../../views/curl.ts'
import { promptSayings, responseSayings, type Saying } from '../../../views/sayings.ts'
import {
  endText,
  eventsIn,
  requestHead,
  responseHead,
  type SentEvent,
  textIn,
  visible,
} from '../../../views/wire-text.ts'
import type { ReportCall } from '../../report-data.ts'
import { toneClass } from '../calls/list.tsx'
import { chosen, selected, toggleSelected } from '../calls/shown.ts'
import { askJson, errorText } from '../state/api.ts'
import { callOf, usesVirtualClock } from '../state/call-list.ts'
import { costText, countedText, countText, instantText, spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { go, hashOf, here, narrow } from '../state/route.ts'
import { YamlText } from '../ui/editor.tsx'
import { Icon } from '../ui/icons.tsx'
import {
  ActionButton,
  Block,
  Code,
  CopyButton,
  Facts,
  Json,
  Region,
  saveFile,
  type Tab,
  Table,
  Tabs,
  useBeginning,
} from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { callClock, WaterfallChart } from './waterfall.tsx'

/** The panel of the selected call. */
export const CallDetail = () => (chosen.value === null ? null : <CallPanel id={chosen.value} />)

function CallPanel({ id }: { id: string }) {
  // A failure is that of one call, whereas the last call is shown until the next one is there.
  const load = (): Promise<{ call?: ReportCall; failed?: string; why?: string }> =>
    loadCall(id).then(
      (call) => ({ call }),
      (error: unknown) => ({ failed: id, why: errorText(error) }),
    )
  const { call, failed, why } = useLoaded(load, [id]).value ?? {}
  return (
    <section class="detail-pane" aria-label="Call">
      {!call && failed !== id && <p class="note">Loading …</p>}
      {failed === id && (
        <div class="empty">
          <p>{why}</p>
          <button type="button" onClick={close}>
            Close
          </button>
        </div>
      )}
      {call && <Loaded {...call} />}
    </section>
  )
}

/** Closes the panel. Keyboard focus returns to the list. */
export function close(): void {
  const isInside = document.activeElement?.closest('.detail-pane') != null
  narrow({ call: undefined, tab: undefined })
  // On a narrow screen the list is visible again only then.
  if (isInside) requestAnimationFrame(() => document.querySelector<HTMLElement>('[role=grid]')?.focus())
}

function Loaded(call: ReportCall) {
  const { trace, waterfall, exchange } = call
  const { model, operation, status, outcome, duration_ms, name, route } = trace
  const isExploration = here.value.view === 'explore'
  const tabs: Tab[] = [
    { id: 'timeline', label: 'Timeline', show: () => <Timeline trace={trace} waterfall={waterfall} /> },
    { id: 'request', label: 'Request', show: () => <RequestTab {...call} /> },
    { id: 'response', label: 'Response', show: () => <ResponseTab key={trace.id} trace={trace} exchange={exchange} /> },
    { id: 'headers', label: 'Headers', show: () => <HeadersTab exchange={exchange} /> },
    { id: 'curl', label: 'cURL', show: () => <CurlTab {...call} /> },
    ...(reportData ? [] : [{ id: 'generate', label: 'Generate', show: () => <GenerateTab trace={trace} /> }]),
    { id: 'trace', label: 'Trace', show: () => <Json value={{ ...trace, ...WITHOUT_BODIES }} label="Trace as JSON" /> },
  ]
  return (
    <>
      <header class={`call-head ${toneClass(trace)}`}>
        <span class="pill">{status}</span>
        <h2>
          <span class="model">{model ?? callOf(trace.id)?.requested_model ?? '(no model)'}</span>
          <span class="sub">
            {name === operation ? operation : `${name} · ${operation}`} · {outcomeText(outcome)} in{' '}
            {spanText(duration_ms)} · {route}
          </span>
        </h2>
        {!isExploration && (
          <button
            type="button"
            class="quiet"
            aria-pressed={selected.value.includes(trace.id)}
            title="Select this call to compare it with another one (x)"
            onClick={() => toggleSelected(trace.id)}
          >
            <Icon name={selected.value.includes(trace.id) ? 'check' : 'compare'} />
            Compare
          </button>
        )}
        <button type="button" class="quiet" aria-label="Close the call" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <Tabs
        label="Call details"
        tabs={tabs}
        chosen={here.value.params.get('tab') ?? 'timeline'}
        onChoose={(id) => narrow({ tab: id === 'timeline' ? undefined : id }, { replace: true })}
      />
    </>
  )
}

const WITHOUT_BODIES = { request: undefined, rendered: undefined, answer: undefined }

function Timeline({ trace, waterfall }: Pick<ReportCall, 'trace' | 'waterfall'>) {
  return (
    <>
      {trace.error && (
        <div class="callout bad">
          <strong>{trace.error.code}</strong> {trace.error.message}
        </div>
      )}
      <div class="beside">
        <WaterfallChart waterfall={waterfall} route={trace.route} clock={callClock(trace.id)} />
        <Conversation trace={trace} />
      </div>
      <CallFacts trace={trace} />
    </>
  )
}

function RequestTab({ trace: { request, rendered, route }, exchange }: ReportCall) {
  const received = exchange.request
  return (
    <>
      <Sayings title="Prompt" sayings={promptSayings(rendered ?? request)} />
      {received && (
        <Block title="Client request" copy={() => textIn([received.body])}>
          <Code text={requestHead({ ...received, headers: null })} label="Address" />
          <Code text={visible(textIn([received.body]))} label="Raw request" />
          {received.truncated && <p class="note">Truncated. The full request has {countText(received.bytes)} bytes.</p>}
        </Block>
      )}
      {received && typeof request === 'string' ? null : (
        <JsonBlock title={received ? 'Client request (parsed)' : 'Request'} value={request} label="Request" />
      )}
      {rendered !== null && <JsonBlock title={UNDERSTOOD[route]} value={rendered} label="Rendered request" />}
    </>
  )
}

const UNDERSTOOD = {
  gateway: 'Upstream request',
  direct: 'Client request (translated to the router API)',
} as const

function HeadersTab({ exchange: { request, response } }: Pick<ReportCall, 'exchange'>) {
  return (
    <>
      <HeaderBlock title="Request headers" headers={request?.headers} />
      {response ? (
        <HeaderBlock title="Response headers" headers={response.headers} />
      ) : (
        <p class="note">No response was sent.</p>
      )}
    </>
  )
}

function HeaderBlock({ title, headers }: { title: string; headers: Record<string, string> | null | undefined }) {
  return (
    <Block title={title} {...(headers && { copy: indented(headers) })}>
      {headers ? (
        <Facts class="facts mono" rows={Object.entries(headers).map(([name, value]) => [name, value || '(empty)'])} />
      ) : (
        <p class="note">
          Headers were not stored. Under heavy load, Understudy stores them for failed calls and a sample of the others.
        </p>
      )}
    </Block>
  )
}

function CurlTab({ trace, exchange }: ReportCall) {
  const origin = location.protocol === 'file:' ? 'http://127.0.0.1:8633' : location.origin
  const curl = curlOf({ trace, exchange, origin })
  const again = curlOf({ trace, exchange, origin, inNewSession: true }) ?? ''
  if (!curl) return <p class="note">This call cannot be repeated: {UNREPEATED}.</p>
  return (
    <>
      <Block title="cURL command" copy={() => curl}>
        <Code text={curl} label="Command" />
      </Block>
      {wasFaulty(trace) && (
        <>
          <p class="note">
            Rules that count calls, such as “calls: 1-2”, continue counting in this session. In a new session they start
            over. This requires that the server knows the scenario {trace.scenario} by name:
          </p>
          <Block title="In a new session" copy={() => again}>
            <Code text={again} label="Command in a new session" />
          </Block>
        </>
      )}
    </>
  )
}

const wasFaulty = ({ scenario, faults, attempts }: ReportCall['trace']) =>
  scenario !== null && [...faults, ...attempts.flatMap((one) => one.faults)].length > 0

const UNREPEATED =
  'it is internal, opted out of storage, comes from an earlier version, or had a body too long to store'

/** Maximum number of texts of a prompt, and characters of each; the tabs show the rest. */
const [MAX_SAYINGS, MAX_LENGTH] = [12, 4_000]

/** The prompt and the response. */
function Conversation({ trace: { request, rendered, response: answer, error } }: { trace: StoredTrace }) {
  const prompt = promptSayings(rendered ?? request)
  const response = answer === null ? [] : responseSayings(answer)
  return (
    <div class="conversation">
      <Texts title="Prompt" sayings={prompt.slice(-MAX_SAYINGS)} none="The request contains no text." />
      {prompt.length > MAX_SAYINGS && (
        <p class="note">{countedText(prompt.length - MAX_SAYINGS, 'earlier message')} in the Request tab.</p>
      )}
      <Texts
        title="Response"
        sayings={response}
        none={error === null ? 'The response contains no text.' : 'The call failed without a complete response.'}
      />
    </div>
  )
}

function Texts({ title, sayings, none }: { title: string; sayings: readonly Saying[]; none: string }) {
  const cut = sayings.map(({ role, text }) => ({
    role,
    text: text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text,
  }))
  return (
    <section class="block">
      <h3>{title}</h3>
      {cut.length === 0 ? (
        <p class="note">{none}</p>
      ) : (
        <Region class="texts" label={`${title} in brief`}>
          <Sayings title={`${title} texts`} sayings={cut} />
        </Region>
      )}
    </section>
  )
}

function CallFacts({ trace }: { trace: StoredTrace }) {
  const { started_at, duration_ms, session, operation, fixture, generated, cost, thread, retry_after_ms } = trace
  const row = callOf(trace.id)
  const isVirtual = row !== undefined && usesVirtualClock(row)
  const cached = trace.cache?.status === 'hit' ? 'the cache' : null
  const answeredBy = cached ?? fixture ?? (generated ? 'generated: no fixture matched' : null)
  const rows: [string, ComponentChildren][] = [
    ['Arrived (real time)', row && row.arrived > 0 ? instantText(row.arrived) : null],
    [isVirtual ? 'Started (virtual time)' : 'Started', `${instantText(Date.parse(started_at))}`],
    [isVirtual ? 'Duration (virtual time)' : 'Duration', spanText(duration_ms)],
    ['Requested model', row?.requested_model ?? null],
    ['Operation', operation],
    ['Route', ROUTES[trace.route]],
    ['Session', session],
    ['Plan', trace.plan.join(' → ')],
    ['Response source', answeredBy],
    ['Scenario', trace.scenario],
    ['Retry-After', retry_after_ms === null ? null : spanText(retry_after_ms)],
    ['Usage', usageText(trace)],
    ['Cost', cost === null ? null : costText(cost)],
    ['Cache', trace.cache && `${trace.cache.status}, key ${trace.cache.key.slice(0, 12)}`],
    ['Thread', typeof thread?.id === 'string' ? thread.id : null],
    ['Metadata', trace.metadata && JSON.stringify(trace.metadata)],
    ['Identity', trace.identity && JSON.stringify(trace.identity)],
    ['Trace', trace.id],
    ['Parent call', trace.parent && <a href={hashOf('calls', { call: trace.parent })}>{trace.parent}</a>],
  ]
  return <Facts rows={rows.filter(([, value]) => value !== null && value !== '')} />
}

function usageText({ usage }: StoredTrace): string | null {
  const counts = Object.entries(usage ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [countedText(value, name.replaceAll('_', ' ').replace(/s$/, ''))] : [],
  )
  return counts.length === 0 ? null : counts.join(', ')
}

const ROUTES = {
  direct: 'direct: straight to the provider',
  gateway: 'gateway: with retries, fallbacks, and other gateway features',
} as const

function ResponseTab({ trace, exchange }: { trace: StoredTrace; exchange: Exchange }) {
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
          <JsonBlock title={stream ? 'Response (assembled)' : 'Response'} value={answer} label="Response" />
        </>
      )}
    </>
  )
}

/** A value as JSON, with a title and a button that copies it. */
const JsonBlock = ({ title, value, label }: { title: string; value: unknown; label: string }) => (
  <Block title={title} copy={indented(value)}>
    <Json value={value} label={label} />
  </Block>
)

/** A value as formatted text. */
const indented = (value: unknown) => () => JSON.stringify(value, null, 2)

/** Messages in order. */
function Sayings({ title, sayings }: { title: string; sayings: readonly Saying[] }) {
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

const KINDS = [
  { kind: 'fixture', label: 'Fixture', none: 'No fixture: the call failed, or its response was not stored.' },
  { kind: 'scenario', label: 'Scenario', none: 'No scenario: nothing failed in this call.' },
  { kind: 'test', label: 'Test', none: 'No test: the request body is not JSON.' },
] as const

function GenerateTab({ trace }: { trace: StoredTrace }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]['kind']>('fixture')
  const path = `/_understudy/traces/${encodeURIComponent(trace.id)}/reproduction`
  const { value, error } = useLoaded(() => askJson<GeneratedFiles>(path, { session: trace.session }), [trace.id])
  const file = value?.[kind]
  return (
    <>
      <fieldset class="choices">
        <legend class="hidden">What to generate</legend>
        {KINDS.map((one) => (
          <label key={one.kind}>
            <input type="radio" name="made" checked={one.kind === kind} onChange={() => setKind(one.kind)} />
            {one.label}
          </label>
        ))}
      </fieldset>
      {error !== undefined && <p class="callout bad">{error}</p>}
      {value && !file && <p class="note">{KINDS.find((one) => one.kind === kind)?.none}</p>}
      {file && (
        <section class="block">
          <header>
            <h3>{file.name}</h3>
            <span class="actions">
              <CopyButton text={() => file.text} />
              <button type="button" class="quiet" onClick={() => saveFile(file.name, file.text)}>
                <Icon name="save" /> Save
              </button>
            </span>
          </header>
          {kind === 'test' ? (
            <Code text={file.text} label={file.name} />
          ) : (
            <YamlText text={file.text} label={file.name} />
          )}
          <p class="note">{USES[kind]}</p>
          {kind !== 'test' && <UseIt id={trace.id} made={value} />}
        </section>
      )}
    </>
  )
}

/** Creates a session that reproduces the call. */
function UseIt({ id, made }: { id: string; made: GeneratedFiles }) {
  const name = `again-${id.slice(-6).toLowerCase()}`
  const begin = async () => {
    const { fixture, scenario } = made
    const body = {
      name,
      clock: 'virtual',
      fixtures: [fixture?.value].filter(Boolean),
      ...(scenario && { scenario: scenario.value }),
    }
    await askJson('/_understudy/sessions', { method: 'POST', body, session: name })
    go('sessions', { session: name })
  }
  return (
    <p class="actions">
      <ActionButton act={begin}>Create the session {name} with it</ActionButton>
    </p>
  )
}

const USES = {
  fixture:
    'Save it in a fixture folder (serve --fixtures <folder>), or load it into a session with PUT /_understudy/fixtures.',
  scenario: 'Run it with serve --scenario <file> or exec --scenario <file>.',
  test: 'Run it with vitest against a server at UNDERSTUDY_URL.',
}

/** A call with its steps. */
export async function loadCall(id: string): Promise<ReportCall> {
  if (reportData) {
    const found = reportData.calls[id]
    if (found) return found
    throw new Error('this report does not include the details of this call')
  }
  const path = `/_understudy/traces/${encodeURIComponent(id)}`
  // The session is known for listed calls; otherwise every session is searched.
  const row = callOf(id)
  const [query, session] = row ? ['', row.session] : ['?all=true', undefined]
  const [trace, waterfall, exchange] = await Promise.all([
    askJson<ReportCall['trace']>(`${path}${query}`, { session }),
    askJson<ReportCall['waterfall']>(`${path}/waterfall${query}`, { session }),
    askJson<ReportCall['exchange']>(`${path}/exchange${query}`, { session }),
  ])
  return { trace, waterfall, exchange }
}
