import { expect, test } from 'bun:test'
import { Backlog } from '../../src/backends/record/backlog.ts'

test('backlog: lets attempts wait while too many responses or bytes do', async () => {
  const backlog = new Backlog({ count: 3, bytes: 100 })
  backlog.add({ count: 2, bytes: 99 })
  expect(backlog.room()).toBeUndefined()
  backlog.add({ count: 0, bytes: 1 })
  const room = backlog.room()
  backlog.add({ count: 1, bytes: 0 })
  backlog.remove({ count: 0, bytes: 100 })
  expect(Bun.peek.status(room)).toBe('pending')
  backlog.remove({ count: 1, bytes: 0 })
  await room
  expect(backlog.room()).toBeUndefined()
})

test('backlog: lets attempts through when nothing is recorded any more', async () => {
  const backlog = new Backlog({ count: 1, bytes: 1 })
  backlog.add({ count: 1, bytes: 1 })
  const room = backlog.room()
  backlog.clear()
  await room
  expect(backlog.room()).toBeUndefined()
})
