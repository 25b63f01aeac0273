// One call: its course, what was asked and answered, and what can be made of it.
import type { ComponentChildren } from 'preact'
import { toneClass } from '../calls/list.tsx'
import { spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { here, narrow } from '../state/route.ts'
import { CopyButton } from '../ui/copy.tsx'
import { Icon } from '../ui/icons.tsx'
import { type Tab, Tabs } from '../ui/tabs.tsx'
import { answerHeaders, Facts } from './facts.tsx'
import { Code, Json } from './json.tsx'
import { call, type LoadedCall } from './loaded.ts'
import { MadeTab } from './made.tsx'
import { curlOf } from './repeat.ts'
import { answeredIn, askedIn, type Saying } from './texts.ts'
import { WaterfallChart } from './waterfall.tsx'

/** The panel of the chosen call. */
export function CallDetail() {
  const state = call.value
  if (state.kind === 'none') return null
  return (
    <section class="detail-pane" aria-label="Call">
      {state.kind === 'loading' && <p class="note">Loading …</p>}
      {state.kind === 'failed' && (
        <div class="empty">
          <p>{state.why}</p>
          <button type="button" onClick={close}>
            Close
          </button>
        </div>
      )}
      {state.kind === 'here' && <Loaded {...state} />}
    </section>
  )
}

/** Closes the panel. */
export const close = () => narrow({ call: undefined, tab: undefined })

function Loaded({ trace, waterfall }: LoadedCall) {
  const { model, operation, status, outcome, duration_ms, name } = trace
  const tabs: Tab[] = [
    { id: 'course', label: 'Course', show: () => <Course trace={trace} waterfall={waterfall} /> },
    { id: 'request', label: 'Request', show: () => <RequestTab {...trace} /> },
    { id: 'answer', label: 'Answer', show: () => <AnswerTab {...trace} /> },
    { id: 'headers', label: 'Headers', show: () => <HeadersTab rows={answerHeaders(trace)} /> },
    { id: 'repeat', label: 'Repeat', show: () => <RepeatTab {...trace} /> },
    ...(reportData ? [] : [{ id: 'make', label: 'Make of it', show: () => <MadeTab trace={trace} /> }]),
    { id: 'trace', label: 'Trace', show: () => <Json value={{ ...trace, ...WITHOUT_BODIES }} label="Trace as JSON" /> },
  ]
  return (
    <>
      <header class={`call-head ${toneClass(trace)}`}>
        <span class="pill">{status}</span>
        <h2>
          <span class="model">{model ?? 'no model'}</span>
          <span class="sub">
            {name === operation ? operation : `${name} · ${operation}`} · {outcome} in {spanText(duration_ms)}
          </span>
        </h2>
        <button type="button" class="quiet" aria-label="Close the call" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <Tabs
        label="Parts of the call"
        tabs={tabs}
        chosen={here.value.params.get('tab') ?? 'course'}
        onChoose={(id) => narrow({ tab: id === 'course' ? undefined : id }, { replace: true })}
      />
    </>
  )
}

const WITHOUT_BODIES = { request: undefined, rendered: undefined, answer: undefined }

function Course({ trace, waterfall }: LoadedCall) {
  return (
    <>
      {trace.error && (
        <div class="callout bad">
          <strong>{trace.error.code}</strong> {trace.error.message}
        </div>
      )}
      <WaterfallChart waterfall={waterfall} />
      <Facts trace={trace} />
    </>
  )
}

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

function Block({ title, children, copy }: { title: string; children: ComponentChildren; copy?: () => string }) {
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

const indented = (value: unknown) => () => JSON.stringify(value, null, 2)

function RequestTab({ request, rendered }: LoadedCall['trace']) {
  return (
    <>
      <Sayings title="What was asked" sayings={askedIn(rendered ?? request)} />
      <Block title="Request as it came" copy={indented(request)}>
        <Json value={request} label="Request" />
      </Block>
      {rendered !== null && (
        <Block title="Request as it was sent on" copy={indented(rendered)}>
          <Json value={rendered} label="Rendered request" />
        </Block>
      )}
    </>
  )
}

function AnswerTab({ answer, error, stream }: LoadedCall['trace']) {
  if (answer === null) {
    const why = error ? 'The call was answered with an error.' : 'Nothing of the answer was kept.'
    return error ? <Json value={{ error }} label="Error" /> : <p class="note">{why}</p>
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

function HeadersTab({ rows }: { rows: readonly [string, string][] }) {
  return (
    <>
      <dl class="facts mono">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value === '' ? '(empty)' : value}</dd>
          </div>
        ))}
      </dl>
      <p class="note">Headers of the request are not kept, since they hold tokens.</p>
    </>
  )
}

function RepeatTab(trace: LoadedCall['trace']) {
  const origin = location.protocol === 'file:' ? 'http://127.0.0.1:4010' : location.origin
  const curl = curlOf(trace, origin)
  if (!curl) return <p class="note">This call cannot be made again from here: its body is no JSON, or was not kept.</p>
  return (
    <Block title="As a command" copy={() => curl}>
      <Code text={curl} label="Command" />
    </Block>
  )
}
