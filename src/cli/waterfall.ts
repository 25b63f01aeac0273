// A trace drawn over time: a line for each step, a bar for each attempt, with its wait before it.
import type { styleText } from 'node:util'
import type { AttemptRecord, TraceRecord } from '../contract/trace.ts'

type Format = Extract<Parameters<typeof styleText>[0], string>
/** Colours a text, or leaves it as it is where colours do not belong. */
export type Paint = (format: Format, text: string) => string

/** Characters of the time axis. */
const WIDTH = 40
const WAIT = '·'
/** Before and after the first content; an attempt without any is the first kind alone. */
const SILENT = '░'
const HEARD = '█'

/** The lines that show what happened in a call, in the order in which it happened. */
export function waterfall(trace: TraceRecord, paint: Paint): string[] {
  const { scenario, faults, retrievals, guardrails, cache, attempts } = trace
  const step = (name: string, text: string) => `  ${paint('bold', name.padEnd(10))} ${text}`
  const colours = { passed: 'green', blocked: 'red', alerted: 'yellow', unchecked: 'dim' } as const
  const verdict = ({ id, outcome, reason }: TraceRecord['guardrails'][number]) =>
    `${id} ${paint(colours[outcome], reason === null ? outcome : `${outcome}: ${reason}`)}`
  const checks = (stage: string) =>
    guardrails.filter((one) => one.stage === stage).map((one) => step(stage, verdict(one)))
  return [
    ...(scenario === null ? [] : [step('scenario', scenario)]),
    ...retrievals.map(({ knowledge_id, search_type, chunks }) =>
      step('knowledge', `${knowledge_id} ${search_type}, ${counted(chunks.length, 'chunk')}`),
    ),
    ...checks('input'),
    ...(cache
      ? [step('cache', cache.age_ms === null ? cache.status : `${cache.status}, ${time(cache.age_ms)} old`)]
      : []),
    ...(attempts.length === 0 ? [] : ['', ...bars(trace, paint), '']),
    ...checks('output'),
    ...(faults.length === 0 ? [] : [step('faults', `on the way to the client: ${faults.join(', ')}`)]),
    ...(trace.usage ? [step('usage', spent(trace))] : []),
  ]
}

function bars({ attempts, duration_ms }: TraceRecord, paint: Paint): string[] {
  const total = Math.max(1, duration_ms, ...attempts.map((one) => one.started_ms + one.duration_ms))
  const label = Math.max(...attempts.map(({ target }) => target.length))
  const axis = `0${time(total).padStart(WIDTH - 1)}`
  return [
    `  ${' '.repeat(label + 10)} ${paint('dim', axis)}`,
    ...attempts.flatMap((attempt) => {
      const { target, why, outcome, status, error, faults, request_id: id } = attempt
      const good = outcome === 'answered'
      const name = `${target.padEnd(label)} ${why.padEnd(9)}`
      const end = `${outcome} ${status} in ${time(attempt.duration_ms)}`
      const notes = [
        ...(attempt.wait_ms > 0 ? [`after ${time(attempt.wait_ms)}`] : []),
        ...(attempt.first_content_ms === null
          ? []
          : [`first content after ${time(attempt.first_content_ms - attempt.started_ms)}`]),
        ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
        ...(id ? [`request ${id}`] : []),
      ]
      const line = [`  ${name} ${barOf(attempt, total, paint)} ${paint(good ? 'green' : 'red', end)}`, ...notes].join(
        ', ',
      )
      return error === null ? [line] : [line, `  ${' '.repeat(label + 10)} ${paint('dim', error)}`]
    }),
  ]
}

/** An attempt on the time axis; what is short is still one character. */
function barOf(attempt: AttemptRecord, total: number, paint: Paint): string {
  const { started_ms: start, wait_ms: wait, first_content_ms: first, duration_ms: duration, outcome } = attempt
  const at = (ms: number) => Math.min(WIDTH, Math.round((ms / total) * WIDTH))
  const from = Math.min(at(start), WIDTH - 1)
  const to = Math.max(from + 1, at(start + duration))
  const heard = first === null ? to : Math.min(at(first), to - 1)
  const waited = Math.min(at(start - wait), from)
  const bar = SILENT.repeat(Math.max(0, heard - from)) + HEARD.repeat(to - Math.max(heard, from))
  const colour = outcome === 'answered' ? 'green' : 'red'
  return `${' '.repeat(waited)}${paint('dim', WAIT.repeat(from - waited))}${paint(colour, bar)}${' '.repeat(WIDTH - to)}`
}

const time = (ms: number) => (ms < 10_000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)
const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The counts that are numbers, and what the call would have cost. */
function spent({ usage, cost }: TraceRecord): string {
  const counts = Object.entries(usage ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${value} ${name.replaceAll('_', ' ')}`] : [],
  )
  return [...counts, ...(cost === null ? [] : [`$${Number(cost.toPrecision(3))}`])].join(', ')
}
