// A scenario file made from evidence. Every number says whether it was observed or is assumed.
import { createRedactor, type Redactor } from '../cassettes/redact.ts'
import { counted } from '../lib/units.ts'
import { yaml } from '../lib/yaml.ts'
import type { EvidenceOfAttempts, EvidenceOfIncident, EvidenceOutcome, StreamError } from './evidence.ts'
import { outcomeName } from './evidence.ts'
import type { EvidenceRule } from './rules.ts'

/** Where a scenario comes from. */
export interface ScenarioOrigin {
  /** Name of the scenario. */
  name: string
  /** File of the evidence, as it was named. */
  file: string
}

const OBSERVED = '# observed'

/** The file for attempts and the rules that explain them. */
export function attemptsScenario(
  { name, file }: ScenarioOrigin,
  { format, startedAt, attempts }: EvidenceOfAttempts,
  rules: readonly EvidenceRule[],
): string {
  const failed = attempts.filter(({ outcome }) => outcome.kind !== 'succeeded').length
  const length = Math.max(...attempts.map(({ at = 0 }) => at))
  const when = startedAt === undefined ? '' : ` from ${startedAt}${length > 0 ? `, in ${durationOf(length)}` : ''}`
  const names = ruleNames(rules)
  // Other recordings than cassettes have the bytes that were sent.
  const redactor = createRedactor({ paths: [], personalNames: false, keys: [] })
  return [
    `# What ${counted(attempts.length, 'attempt')} met${when}: ${failed} failed.`,
    '# Rehearses: what your program does when it happens again.',
    `# Source: ${file} (${format}).`,
    '# Each number says whether it was observed or is assumed.',
    `name: ${name}`,
    `description: ${quoted(`${counted(failed, 'failure')} in ${counted(attempts.length, 'attempt')}, from ${file}.`)}`,
    'clock: virtual',
    'rules:',
    ...rules.flatMap((rule, index) => ruleLines(rule, names[index] ?? '', redactor)),
    'expect:',
    ...names.map((one) => `  - { rule: ${quoted(one)}, attempts: 1+ }`),
    '',
  ].join('\n')
}

function ruleNames(rules: readonly EvidenceRule[]): string[] {
  const seen = new Map<string, number>()
  return rules.map(({ provider = 'every provider', model, outcome }) => {
    const name = `${[provider, model].filter(Boolean).join('/')}: ${outcomeName(outcome)}`
    const number = (seen.get(name) ?? 0) + 1
    seen.set(name, number)
    return number === 1 ? name : `${name} (${number})`
  })
}

function ruleLines(rule: EvidenceRule, name: string, redactor: Redactor): string[] {
  const { provider, model, operation, stream, window, calls, outcome, hasEnd } = rule
  const match = Object.entries({ provider, model, operation, stream }).filter(([, value]) => value !== undefined)
  const lines = [`  - name: ${quoted(name)}`]
  if (match.length > 0)
    lines.push(`    match: { ${match.map(([key, value]) => `${key}: ${quoted(value)}`).join(', ')} }`)
  if (window) {
    const after = window.from > 0 ? `after: ${exact(window.from)}, ` : ''
    const end = hasEnd
      ? `${OBSERVED}: the next attempt after it did not fail so`
      : '# assumed: it ended with the last attempt that failed'
    lines.push(`    when: { ${after}for: ${exact(window.to - window.from)} } ${end}`)
  }
  if (calls) lines.push(`    when: { calls: ${calls.from}-${calls.to} } ${OBSERVED}`)
  if (outcome.kind === 'status') lines.push(...statusLines(outcome, redactor))
  else if (outcome.kind === 'stream error') lines.push(...streamErrorLines(outcome, redactor))
  else if (outcome.kind === 'error body') lines.push(...errorBodyLines(outcome.body, redactor))
  else lines.push(...faultLines(outcome, rule.stream))
  return lines
}

function faultLines(
  outcome: Exclude<EvidenceRule['outcome'], EvidenceStatus | { kind: 'stream error' | 'error body' }>,
  stream: boolean | undefined,
): string[] {
  switch (outcome.kind) {
    case 'reset':
      return [`    fault: { type: reset } ${OBSERVED}`]
    case 'empty body':
      return [`    fault: { type: empty-body } ${OBSERVED}`]
    case 'refused':
      return [`    fault: { type: connection-refused } ${OBSERVED}`]
    case 'unknown host':
      return [`    fault: { type: dns-failure } ${OBSERVED}`]
    case 'silence':
      return [`    fault: { type: hang, for: ${exact(Math.max(1, outcome.ms))} } ${OBSERVED}: until it was given up`]
    case 'cut':
      return outcome.bytes !== undefined
        ? [`    fault: { type: cut-stream, after_bytes: ${outcome.bytes} } ${OBSERVED}`]
        : [
            stream
              ? '    fault: { type: cut-stream, after_chunks: 3 } # assumed: after three chunks'
              : '    fault: { type: cut-stream, after_fraction: 0.5 } # assumed: half of the response',
          ]
  }
}

const MAX_BODY = 2_000

type EvidenceStatus = Extract<EvidenceOutcome, { kind: 'status' }>

function statusLines({ status, retryAfter, body }: EvidenceStatus, redactor: Redactor): string[] {
  const lines = ['    fault:', '      type: http-error', `      status: ${status} ${OBSERVED}`]
  if (retryAfter) lines.push(`      retry_after: ${exact(retryAfter)} ${OBSERVED}`)
  const text = body === undefined ? '' : redactor.text(JSON.stringify(body))
  if (text !== '' && text.length <= MAX_BODY) lines.push(`      body: ${text} ${OBSERVED}`)
  return lines
}

function streamErrorLines({ after, isOverloaded, message }: StreamError, redactor: Redactor): string[] {
  return [
    ...['    fault:', '      type: stream-error'],
    after === undefined ? '      after_chunks: 1 # assumed' : `      after_chunks: ${after} ${OBSERVED}`,
    isOverloaded ? `      status: overloaded ${OBSERVED}` : '      status: 500 # assumed',
    ...(message === undefined ? [] : [`      message: ${JSON.stringify(redactor.text(message))} ${OBSERVED}`]),
  ]
}

function errorBodyLines(body: object, redactor: Redactor): string[] {
  const whole = redactor.text(JSON.stringify(body))
  const text =
    whole.length <= MAX_BODY ? whole : '{"error":{"message":"The recorded error is too long for this file."}}'
  return ['    fault:', '      type: malformed-json', `      text: ${JSON.stringify(text)} ${OBSERVED}`]
}

const PARTIAL: Record<string, number> = { critical: 1, major: 0.5, minor: 0.1 }

/** The file for an incident of a status page. */
export function incidentScenario({ name, file }: ScenarioOrigin, incident: EvidenceOfIncident): string {
  const { title, provider, startedAt, phases, impact, status } = incident
  const share = PARTIAL[impact] ?? 0.5
  const rule = `${provider} incident`
  const phaseLine = ({ phase, for: length }: (typeof phases)[number]) =>
    phase === 'down'
      ? `        - { phase: down, for: ${exact(length)}, from: ${share}, to: ${share} } # for: observed; share: assumed from the impact '${impact}'`
      : `        - { phase: recovering, for: ${exact(length)}, from: ${share}, to: 0 } # for: observed; an even recovery is assumed`
  return [
    `# ${sentence(title)}`,
    '# Rehearses: what your program does when it happens again.',
    `# Source: ${file} (an incident of a status page), from ${startedAt}.`,
    '# A status page says when an incident began and ended, and not which requests failed.',
    ...(share < 1 ? ['# Needs: six calls, since not every request fails.'] : []),
    `name: ${name}`,
    `description: ${quoted(sentence(title))}`,
    'clock: virtual',
    ...(share < 1 ? ['needs: { calls: 6 }'] : []),
    'rules:',
    `  - name: ${quoted(rule)}`,
    `    match: { provider: ${quoted(provider)} }`,
    '    when:',
    '      schedule:',
    ...phases.map(phaseLine),
    '        - { phase: healthy }',
    `    fault: { type: http-error, status: ${status ?? 503} } ${status === undefined ? '# assumed' : `${OBSERVED} in the text`}`,
    'expect:',
    `  - { rule: ${quoted(rule)}, attempts: 1+ }`,
    '',
  ].join('\n')
}

const sentence = (text: string) => text.replaceAll(/\s+/g, ' ').trim().replace(/\.?$/, '.')

/** A value in flow style on one line. */
const quoted = (value: unknown): string => (typeof value === 'string' ? scalar(value) : String(value))
const scalar = (text: string) =>
  /^[A-Za-z][\w./-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off)$/i.test(text) ? text : JSON.stringify(text)

/** A duration that is read back as the same number of milliseconds. */
function exact(ms: number): string {
  if (ms > 0 && ms % 60_000 === 0) return `${ms / 60_000}m`
  return ms > 0 && ms % 1000 === 0 ? `${ms / 1000}s` : `${Math.round(ms)}ms`
}

/** A duration for a comment. */
function durationOf(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`
  return `${Math.round(ms / 60_000)} min`
}

/** The value of a made scenario, as a check that it can be read. */
export const scenarioValue = (text: string): unknown => yaml().parse(text)
