// One call: its course, what was asked and answered, and what can be made of it.
import { toneClass } from '../calls/list.tsx'
import { spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { here, narrow } from '../state/route.ts'
import { Icon } from '../ui/icons.tsx'
import { type Tab, Tabs } from '../ui/tabs.tsx'
import { AnswerTab, Block, indented, Sayings } from './answer.tsx'
import { answerHeaders, Facts } from './facts.tsx'
import { Code, Json } from './json.tsx'
import { call, type LoadedCall } from './loaded.ts'
import { MadeTab } from './made.tsx'
import { curlOf } from './repeat.ts'
import { askedIn } from './texts.ts'
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

/** Closes the panel; whoever was in it goes on in the list. */
export function close(): void {
  const isInside = document.activeElement?.closest('.detail-pane') != null
  narrow({ call: undefined, tab: undefined })
  // On a narrow screen the list is there again only then.
  if (isInside) requestAnimationFrame(() => document.querySelector<HTMLElement>('[role=grid]')?.focus())
}

function Loaded({ trace, waterfall }: LoadedCall) {
  const { model, operation, status, outcome, duration_ms, name } = trace
  const tabs: Tab[] = [
    { id: 'course', label: 'Course', show: () => <Course trace={trace} waterfall={waterfall} /> },
    { id: 'request', label: 'Request', show: () => <RequestTab {...trace} /> },
    { id: 'answer', label: 'Answer', show: () => <AnswerTab trace={trace} /> },
    { id: 'headers', label: 'Headers', show: () => <HeadersTab trace={trace} /> },
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

function HeadersTab({ trace }: { trace: LoadedCall['trace'] }) {
  const asked = trace.request_headers
  return (
    <>
      <Block title="Headers of the request" {...(asked && { copy: indented(asked) })}>
        {asked ? (
          <HeaderList rows={Object.entries(asked)} />
        ) : (
          <p class="note">
            They were not kept: of very many calls a second, only some have them, and those that failed.
          </p>
        )}
      </Block>
      <Block title="Headers of the answer that say what happened">
        <HeaderList rows={answerHeaders(trace)} />
      </Block>
    </>
  )
}

function HeaderList({ rows }: { rows: readonly (readonly [string, string])[] }) {
  return (
    <dl class="facts mono">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === '' ? '(empty)' : value}</dd>
        </div>
      ))}
    </dl>
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
