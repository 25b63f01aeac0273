// What the fuzzer's watcher does not hold against a server: time that other programs took from it.
import { expect, test } from 'bun:test'
import { type ProcessTimes, takenByOthers } from '../fuzz/own-time.ts'

const times = (ran: number, waited: number, helpers: Record<string, number>): ProcessTimes => ({
  ran,
  waited,
  helpers: new Map(Object.entries(helpers)),
})

test.each<[string, ProcessTimes, number]>([
  ['a server that worked all the time', times(300, 0, { a: 500 }), 0],
  ['one that had no processor', times(50, 250, {}), 250],
  ['one that stood still for a helper without a processor', times(50, 100, { a: 120, b: 40 }), 220],
  ['one that stood still longer than its helper had none', times(50, 0, { a: 30 }), 30],
  ['one whose helper had none for longer than it stood still', times(200, 50, { a: 1_000 }), 100],
  ['one that stood still by itself', times(0, 0, {}), 0],
])('time taken by others: of 300 ms, for %s', (_, after, taken) => {
  const before = times(0, 0, Object.fromEntries([...after.helpers.keys()].map((name) => [name, 0])))
  expect(takenByOthers(300, before, after)).toBe(taken)
})
