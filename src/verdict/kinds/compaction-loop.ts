// compaction-loop: a conversation that is too long for the model was sent again and again without becoming shorter.
import { groupBy } from '../../lib/group-by.ts'
import { wordsPrint } from '../../lib/question.ts'
import { type ClientCall, isAfter } from '../client-call.ts'
import { type Behaviour, type FindingDefinition, type FindingDraft, times } from './define.ts'

/** So many refusals in a row are a loop: the first is news, and the second shows that what was left out did not suffice. */
const MIN_REFUSALS = 3

export const compactionLoop: FindingDefinition = {
  kind: 'compaction-loop',
  find: (behaviour) =>
    conversationsIn(behaviour)
      .flatMap((calls) =>
        stretchesOfRefusals(calls).map((refused) => ({ refused, severity: severityOf(refused, calls, behaviour) })),
      )
      .flatMap(({ refused, severity }) => (severity === undefined ? [] : [draft(refused, severity)])),
}

/** Calls of one model that begin with the same instructions and the same turn, in order: of one conversation, or of several that are alike. */
const conversationsIn = ({ calls }: Behaviour): ClientCall[][] =>
  groupBy(
    calls.filter(({ question }) => question.turns.length > 0),
    ({ operation, model, question }) => [operation, model, question.instructions, question.turns[0]].join(' '),
  ).filter((group) => group.some(({ tooLong }) => tooLong))

/** Characters of an input. */
function sizeOf({ question: { exact } }: ClientCall): number {
  return exact.turns.reduce((sum, { size }) => sum + size, exact.tools.size + exact.system.size)
}

/** The longest rows of refusals, each after the one before and none shorter; others of another kind may come between them. Anything else that was answered ends a row. */
function stretchesOfRefusals(calls: readonly ClientCall[]): ClientCall[][] {
  const rows: ClientCall[][] = []
  let row: ClientCall[] = []
  for (const call of calls) {
    const last = row.at(-1)
    if (!call.tooLong) {
      if (call.outcome === 'succeeded') row = []
    } else if (last && sizeOf(call) >= sizeOf(last)) {
      if (isAfter(call, last) && goesOn(call, last)) row.push(call)
    } else {
      row = [call]
      rows.push(row)
    }
  }
  return rows.filter(({ length }) => length >= MIN_REFUSALS)
}

/** Whether a call asks the same as one before, or has all of its turns and more. */
const goesOn = ({ question: again }: ClientCall, { question: first }: ClientCall): boolean =>
  again.template === first.template ||
  (again.turns.length > first.turns.length && first.turns.every((turn, index) => turn === again.turns[index]))

/**
 * How sure it is that one client is behind a row: its calls say that they repeat each other, or they go on with an answer that
 * fewer conversations have had. Undefined where they may be requests of their own that are equal or alike.
 */
function severityOf(
  row: readonly ClientCall[],
  calls: readonly ClientCall[],
  { pairing }: Behaviour,
): FindingDraft['severity'] | undefined {
  const declared = new Set(pairing.pairs.filter((pair) => pair.declared).map(({ again }) => again))
  if (row.slice(1).filter((call) => declared.has(call)).length >= MIN_REFUSALS - 1) return 'error'
  const [first] = row
  const begun = new Set(row.flatMap((call) => begunBefore(call, calls)))
  if (begun.size > 0 && row.length < MIN_REFUSALS * begun.size) return undefined
  if (first && [...begun].some((before) => hasAnswer(first, before))) return 'error'
  const isConversation = (first?.question.turns.length ?? 0) > 1
  const differ = new Set(row.map(({ question }) => question.template)).size > 1
  return isConversation && differ ? 'warning' : undefined
}

/** The answered calls that end closest before where a call goes on: each may be of a conversation of its own. */
function begunBefore(again: ClientCall, calls: readonly ClientCall[]): ClientCall[] {
  const { turns } = again.question
  const isBegun = ({ question }: ClientCall) => question.turns.every((turn, index) => turn === turns[index])
  const answered = calls
    .filter((call) => call.outcome === 'succeeded' && isAfter(again, call) && call.question.turns.length < turns.length)
    .toSorted((one, other) => other.question.turns.length - one.question.turns.length)
  const closest = answered.find(isBegun)?.question.turns.length
  return answered.filter((call) => call.question.turns.length === closest && isBegun(call))
}

/** Whether a call goes on with the answer to another one, and not with words that a program has in store. */
function hasAnswer({ question }: ClientCall, before: ClientCall): boolean {
  if (question.turns.length !== before.question.turns.length + 2) return false
  const words = before.words()
  // An answer without words calls tools.
  return words === '' || question.said === wordsPrint(words)
}

function draft(refused: readonly ClientCall[], severity: FindingDraft['severity']): FindingDraft {
  const [first] = refused
  const last = refused.at(-1)
  const [from, to] = [first ? sizeOf(first) : 0, last ? sizeOf(last) : 0]
  return {
    severity,
    message: `a conversation that is too long for the model was sent ${times(refused.length)} in a row without becoming shorter (${from} characters at first, ${to} in the end)${severity === 'error' ? '' : '; the calls may be of several conversations'}`,
    calls: refused,
    count: refused.length,
    figures: { refusals: refused.length, first_characters: from, last_characters: to },
  }
}
