// The filters of a list of calls: parameters of the URL, as a predicate for rows.
import type { CallRow } from '../../../contract/core/call-row.ts'

/** URL parameters that select calls by one value. */
export const CHOICES = ['session', 'operation', 'model', 'outcome', 'status', 'fault', 'fixture'] as const
/** Name of a filter that selects calls by one value. */
export type Choice = (typeof CHOICES)[number]

/** All filter parameters. */
export const FILTERS = [...CHOICES, 'text', 'since', 'until', 'internal'] as const

/** The values of a row for each filter. */
const VALUES: Record<Choice, (row: CallRow) => readonly string[]> = {
  session: ({ session }) => [session],
  operation: ({ operation }) => [operation],
  model: ({ model, requested_model: requested }) => [
    ...new Set([requested ?? model ?? 'none', model ?? requested ?? 'none']),
  ],
  outcome: ({ outcome }) => [outcome],
  status: ({ status }) => [String(status)],
  fault: ({ faults }) => (faults.length > 0 ? faults : ['none']),
  fixture: ({ fixture, generated }) => [fixture ?? (generated ? 'generated' : 'none')],
}

/** Values that stand for several: `5xx`, and `any` fault. */
const matches = (choice: Choice, pattern: string, values: readonly string[]): boolean => {
  if (values.includes(pattern)) return true
  if (choice === 'status' && /^[1-5]xx$/.test(pattern)) return values.some((value) => value[0] === pattern[0])
  if (choice === 'fault' && pattern === 'any') return !values.includes('none')
  return choice === 'outcome' && pattern === 'failed' && !values.includes('succeeded')
}

/** The predicate of the filters; `found` are traces in which the server found the text. */
export function testOf(params: URLSearchParams, found: ReadonlySet<string>): (row: CallRow) => boolean {
  const tests: ((row: CallRow) => boolean)[] = []
  for (const choice of CHOICES) {
    const patterns = params.getAll(choice)
    if (patterns.length > 0) tests.push((row) => patterns.some((one) => matches(choice, one, VALUES[choice](row))))
  }
  const [since, until] = ['since', 'until'].map((name) => instantOf(params.get(name)))
  if (since !== undefined) tests.push(({ started }) => started >= since)
  if (until !== undefined) tests.push(({ started }) => started <= until)
  if (params.get('internal') === 'no') tests.push(({ internal: inner }) => !inner)
  const text = params.get('text')?.toLowerCase()
  if (text) tests.push((row) => found.has(row.id) || wordsIn(row).includes(text))
  return (row) => tests.every((test) => test(row))
}

const wordsIn = ({ id, name, model, requested_model: requested, prompt, operation, error, ...row }: CallRow): string =>
  [id, name, model, requested, prompt, operation, error, row.thread, row.task, row.fixture, row.session, ...row.faults]
    .join('\n')
    .toLowerCase()

/** ISO 8601, or milliseconds since the epoch. */
function instantOf(text: string | null): number | undefined {
  if (!text) return undefined
  const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** Number of calls for each value of a filter, the most frequent first. */
export function choiceValues(choice: Choice, rows: readonly CallRow[]): [value: string, count: number][] {
  const counts = new Map<string, number>()
  for (const row of rows) for (const value of VALUES[choice](row)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort(([one, many], [other, most]) => most - many || (one < other ? -1 : 1))
}
