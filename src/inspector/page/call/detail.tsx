// One call: its timeline, request and response, and the files generated from it.

import type { ComponentChildren } from 'preact'
import { outcomeText } from '../../../contract/core/outcome-text.ts'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { curlOf } from '../../../views/curl.ts'
import { promptSayings, responseSayings, type Saying } from '../../../views/sayings.ts'
import { requestHead, textIn, visible } from '../../../views/wire-text.ts'
import type { ReportCall } from '../../report-data.ts'
import { toneClass } from '../calls/list.tsx'
import { chosen, selected, toggleSelected } from '../calls/shown.ts'
import { errorText } from '../state/api.ts'
import { callOf, usesVirtualClock } from '../state/call-list.ts'
import { costText, countedText, countText, instantText, spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { hashOf, here, narrow } from '../state/route.ts'
import { Icon } from '../ui/icons.tsx'
import { Block, Facts, Region, type Tab, Tabs } from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { GenerateTab } from './generate.tsx'
import { Code, Json } from './json.tsx'
import { loadCall } from './loaded.ts'
import { indented, ResponseTab, Sayings } from './response.tsx'
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
        <Block title={received ? 'Client request (parsed)' : 'Request'} copy={indented(request)}>
          <Json value={request} label="Request" />
        </Block>
      )}
      {rendered !== null && (
        <Block title={UNDERSTOOD[route]} copy={indented(rendered)}>
          <Json value={rendered} label="Rendered request" />
        </Block>
      )}
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

/** The facts of a call. */
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
