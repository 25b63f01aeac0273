// Whether a prompt is an earlier one that its program has rebuilt a little later, by the times in it.
import { expect, test } from 'bun:test'
import { rebuiltText, withoutVolatile } from '../../src/lib/volatile.ts'

const DAY = Date.parse('2026-03-05T00:00:00Z')
const at = (clock: string) => DAY + Date.parse(`1970-01-01T${clock}Z`)
/** How certain it is for calls at these times of that day, or of the next. */
const rebuilt = (first: string, second: string, [before, after]: readonly [number, number]) =>
  rebuiltText(withoutVolatile(first).parts, withoutVolatile(second).parts, { before: [before], after: [after] })

const NEAR = [at('10:15:00'), at('10:15:30')] as const
const MIDNIGHT = [at('23:59:50'), at('23:59:50') + 30_000] as const
test.each([
  ['the time of the call', 'Log of 10:15:00', 'Log of 10:15:30', NEAR, 'certain'],
  [
    'the time of the call in the afternoon',
    'Log of 10:15 pm',
    'Log of 10:16 pm',
    [at('22:15:00'), at('22:16:00')],
    'certain',
  ],
  ['a clock that passes midnight', 'Log of 23:59:50', 'Log of 00:00:20', MIDNIGHT, 'certain'],
  ['another time than that of the call', 'Train at 07:07:00', 'Train at 07:07:20', NEAR, 'possible'],
  ['a time that goes back', 'Train at 09:30', 'Train at 09:10', NEAR, 'different'],
  ['a time that moves on too far', 'Train at 09:30', 'Train at 11:30', NEAR, 'different'],
  ['the day after midnight', 'Sheet of 2026-03-05', 'Sheet of 2026-03-06', MIDNIGHT, 'certain'],
  ['the next day in words', 'Sheet of March 5th, 2026', 'Sheet of March 6th, 2026', MIDNIGHT, 'certain'],
  ['the next day, which comes first', 'Sheet of 5.3.2026', 'Sheet of 6.3.2026', MIDNIGHT, 'certain'],
  ['the next day, behind the month', 'Sheet of 3/5/2026', 'Sheet of 3/6/2026', MIDNIGHT, 'certain'],
  ['the next day although none has begun', 'Sheet of 2026-03-01', 'Sheet of 2026-03-02', NEAR, 'possible'],
  ['another day', 'Sheet of 2026-03-05', 'Sheet of 2026-03-09', MIDNIGHT, 'different'],
  ['what says that it is the time', 'Now: 1:00', 'Now: 1:40', NEAR, 'certain'],
] as const)('rebuilt prompt: has %s', (_, first, second, times, certainty) => {
  expect(rebuilt(first, second, times)).toBe(certainty)
})
