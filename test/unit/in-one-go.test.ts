import { expect, test } from 'bun:test'
import { inOneGo } from '../../src/lib/in-one-go.ts'

test('work of several calls: is done in one go and in order, and fails for its own call alone', async () => {
  const done: string[] = []
  const results = ['a', 'b', 'c'].map((name) =>
    inOneGo(() => {
      done.push(name)
      // Runs before the next promise job, but after the rest of the work.
      queueMicrotask(() => done.push(`after ${name}`))
      if (name === 'b') throw new Error('not b')
      return name
    }),
  )
  expect(done).toEqual([])
  expect(await Promise.allSettled(results)).toMatchObject([
    { value: 'a' },
    { reason: { message: 'not b' } },
    { value: 'c' },
  ])
  expect(done).toEqual(['a', 'b', 'c', 'after a', 'after b', 'after c'])
  expect(await inOneGo(() => 'd')).toBe('d')
})
