// Garbage is collected in the first pause after many calls, and when there is much of it.
import { expect, test } from 'bun:test'
import { withIdleCollection } from '../../src/cli/run/idle-collection.ts'
import { createTestApp } from '../support/app.ts'

test('idle garbage collection: runs once in the first pause after many calls', async () => {
  const { understudy, close } = createTestApp()
  let collected = 0
  let look: (() => void) | undefined
  const every = (_: number, run: () => void) => {
    look = run
    return () => {
      look = undefined
    }
  }
  const answer = async () => new Response()
  const { app } = withIdleCollection(
    { ...understudy, app: { ...understudy.app, fetch: answer } },
    { collect: () => collected++, memory: () => 0, every },
  )
  const call = async (times: number) => {
    for (let count = 0; count < times; count++) await app.fetch(new Request('http://localhost/'))
  }
  await call(10)
  look?.()
  look?.()
  expect({ collected, watching: look !== undefined }).toEqual({ collected: 0, watching: false })
  await call(990)
  look?.()
  await call(1)
  look?.()
  expect(collected).toBe(0)
  look?.()
  expect({ collected, watching: look !== undefined }).toEqual({ collected: 1, watching: false })
  await call(10)
  look?.()
  look?.()
  expect(collected).toBe(1)
  close()
})

test('idle garbage collection: runs during calls when there is much garbage, and blocks only when memory has grown', async () => {
  const { understudy, close } = createTestApp()
  let begun = 0
  let waited = 0
  let bytes = 300e6
  let look: (() => void) | undefined
  const every = (_: number, run: () => void) => {
    look = run
    return () => {}
  }
  const server = { ...understudy, app: { ...understudy.app, fetch: async () => new Response() } }
  const { app } = withIdleCollection(server, {
    collectBetween: () => waited++,
    collectBeside: () => begun++,
    memory: () => bytes,
    every,
  })
  const collectedIn = async (looks: number) => {
    const before = begun
    for (let count = 0; count < looks; count++) {
      await app.fetch(new Request('http://localhost/'))
      look?.()
    }
    return begun - before
  }
  expect(await collectedIn(20)).toBe(0)
  bytes = 400e6
  expect(await collectedIn(1)).toBe(1)
  expect(await collectedIn(4)).toBe(0)
  expect(await collectedIn(6)).toBe(2)
  bytes = 700e6
  expect([await collectedIn(5), waited]).toEqual([0, 1])
  expect([await collectedIn(20), waited]).toEqual([4, 1])
  bytes = 760e6
  expect([await collectedIn(20), waited]).toEqual([3, 2])
  bytes = 400e6
  expect([await collectedIn(5), waited]).toEqual([1, 2])
  bytes = 610e6
  expect([await collectedIn(5), waited]).toEqual([0, 3])
  close()
})
