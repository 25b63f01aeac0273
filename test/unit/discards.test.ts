// The memory of ended generations and deleted sessions is freed soon, but not while it is in use.
import { expect, test } from 'bun:test'
import { instanceOf } from '../../src/contract/core/instance.ts'
import { template } from '../../src/db/open.ts'
import { createDiscards, type DataUsers } from '../../src/sessions/data.ts'
import { sessionHandleMaker } from '../../src/sessions/session-handle.ts'

/** Discards whose checks run when they are called. */
function checkedByHand() {
  let check: (() => void) | undefined
  let closed = 0
  const discard = createDiscards((_, run) => {
    check = run
    return () => {
      check = undefined
    }
  })
  return {
    discard: (users: DataUsers) => discard({ discard: () => closed++ }, users),
    look() {
      check?.()
      return { closed, watching: check !== undefined }
    },
  }
}

test('discarded data: is closed at the second check, and not checked any more', () => {
  const { discard, look } = checkedByHand()
  discard({ active: 0 })
  expect(look()).toEqual({ closed: 0, watching: true })
  expect(look()).toEqual({ closed: 1, watching: false })
  discard({ active: 0 })
  expect(look()).toEqual({ closed: 1, watching: true })
})

test('discarded data: stays open until a check after its last user has ended', () => {
  const { discard, look } = checkedByHand()
  const users = { active: 1 }
  discard(users)
  for (let count = 0; count < 5; count++) expect(look()).toEqual({ closed: 0, watching: true })
  users.active = 0
  expect(look()).toEqual({ closed: 0, watching: true })
  expect(look()).toEqual({ closed: 1, watching: false })
})

test('discarded data: is not in use by the calls of a later generation', async () => {
  const discarded: Readonly<DataUsers>[] = []
  const time = { clock: 'real', latency: 'real' } as const
  const instance = instanceOf({ instance: undefined, host: undefined, port: 0 })
  const make = sessionHandleMaker(
    { db: ':memory:', seed: 1, time, instance },
    { empty: template, folder: undefined, opened() {}, renewed() {}, discard: (_, users) => discarded.push(users) },
  )
  const session = make('a')
  const client = { signal: new AbortController().signal }
  const before = session.current.begin(client)
  // Another scenario starts a generation with the same data.
  session.renew()
  const between = session.current.begin(client)
  expect(discarded).toEqual([])
  await session.reset()
  const after = session.current.begin(client)
  expect(discarded).toEqual([{ active: 2 }])
  before.end()
  between.end()
  expect(discarded).toEqual([{ active: 0 }])
  expect(session.active).toBe(1)
  after.end()
  session.close()
})
