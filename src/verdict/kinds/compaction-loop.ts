// compaction-loop: a conversation that is too long for the model was sent again and again without becoming shorter.
import { groupBy } from '../../lib/group-by.ts'
import { textFingerprint } from '../../lib/question.ts'
import { type ClientCall, isAfter } from '../client-call.ts'
import { type Behavior, type FindingDefinition, type FindingDraft, times } from './define.ts'

/** The first rejection informs a client, and the second shows that it removed too little. */
const MIN_REJECTIONS = 3

/** Reports conversations that were rejected as too long at least three times in a row without becoming shorter. */
export const compactionLoop: FindingDefinition = {
  kind: 'compaction-loop',
  find: (behavior) =>
    conversationsIn(behavior)
      .flatMap((calls) =>
        rejectedRuns(calls).map((rejected) => ({ rejected, severity: severityOf(rejected, calls, behavior) })),
      )
      .flatMap(({ rejected, severity }) => (severity === undefined ? [] : [draft(rejected, severity)])),
}

/** Calls of one model with equal instructions and first turns, in order: one conversation, or several similar ones. */
const conversationsIn = ({ calls }: Behavior): ClientCall[][] =>
  groupBy(
    calls.filter(({ question }) => question.turns.length > 0),
    ({ operation, model, question }) => [operation, model, question.instructions, question.turns[0]].join(' '),
  ).filter((group) => group.some(({ tooLong }) => tooLong))

/** Length of an input in characters. */
function sizeOf({ question: { exact } }: ClientCall): number {
  return exact.turns.reduce((sum, { size }) => sum + size, exact.tools.size + exact.system.size)
}

/** Rows of rejections, each after the one before and none shorter. A success or a shorter input ends a row. */
function rejectedRuns(calls: readonly ClientCall[]): ClientCall[][] {
  const rows: ClientCall[][] = []
  let row: ClientCall[] = []
  for (const call of calls) {
    const last = row.at(-1)
    if (!call.tooLong) {
      if (call.outcome === 'succeeded') row = []
    } else if (last && sizeOf(call) >= sizeOf(last)) {
      if (isAfter(call, last) && isContinuation(call, last)) row.push(call)
    } else {
      row = [call]
      rows.push(row)
    }
  }
  return rows.filter(({ length }) => length >= MIN_REJECTIONS)
}

/** Whether a call repeats an earlier one, or has all of its turns and more. */
const isContinuation = ({ question: again }: ClientCall, { question: first }: ClientCall): boolean =>
  again.template === first.template ||
  (again.turns.length > first.turns.length && first.turns.every((turn, index) => turn === again.turns[index]))

/**
 * The severity for a row of rejections: an error if one client certainly made the calls, because they are marked as retries or
 * continue a response that fewer conversations received. Undefined if they may be separate requests that are equal.
 */
function severityOf(
  row: readonly ClientCall[],
  calls: readonly ClientCall[],
  { pairing: { declared } }: Behavior,
): FindingDraft['severity'] | undefined {
  if (row.slice(1).filter((call) => declared.has(call)).length >= MIN_REJECTIONS - 1) return 'error'
  const [first] = row
  const begun = new Set(row.flatMap((call) => begunBefore(call, calls)))
  if (begun.size > 0 && row.length < MIN_REJECTIONS * begun.size) return undefined
  if (first && [...begun].some((before) => hasAnswer(first, before))) return 'error'
  const isConversation = (first?.question.turns.length ?? 0) > 1
  const differ = new Set(row.map(({ question }) => question.template)).size > 1
  return isConversation && differ ? 'warning' : undefined
}

/** The longest answered calls that a call continues. Each may belong to a separate conversation. */
function begunBefore(again: ClientCall, calls: readonly ClientCall[]): ClientCall[] {
  const { turns } = again.question
  const isBegun = ({ question }: ClientCall) => question.turns.every((turn, index) => turn === turns[index])
  const answered = calls
    .filter((call) => call.outcome === 'succeeded' && isAfter(again, call) && call.question.turns.length < turns.length)
    .toSorted((one, other) => other.question.turns.length - one.question.turns.length)
  const closest = answered.find(isBegun)?.question.turns.length
  return answered.filter((call) => call.question.turns.length === closest && isBegun(call))
}

/** Whether a call continues with the response to another call, and not with stored text. */
function hasAnswer({ question }: ClientCall, before: ClientCall): boolean {
  if (question.turns.length !== before.question.turns.length + 2) return false
  const text = before.responseText()
  // A response without text calls tools.
  return text === '' || question.lastModelText === textFingerprint(text)
}

function draft(rejected: readonly ClientCall[], severity: FindingDraft['severity']): FindingDraft {
  const [first] = rejected
  const last = rejected.at(-1)
  const [from, to] = [first ? sizeOf(first) : 0, last ? sizeOf(last) : 0]
  return {
    severity,
    message: `a conversation that is too long for the model was sent ${times(rejected.length)} in a row without becoming shorter (${from} characters at first, ${to} in the end)${severity === 'error' ? '' : '; the calls may be of several conversations'}`,
    calls: rejected,
    count: rejected.length,
    figures: { refusals: rejected.length, first_characters: from, last_characters: to },
  }
}
