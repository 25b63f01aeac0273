// Garbage is collected in the first pause after many calls, and when it has become much.
import { expect, test } from 'bun:test'
import { withIdleCollection } from '../src/cli/idle-collection.ts'
import { createTestApp } from './support/app.ts'

test('once, in the first pause after many calls', async () => {
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
  const { app } = withIdleCollection({ ...understudy, app: { fetch: answer } }, { collect: () => collected++, every })
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

test('and while calls go on, when there is much of it: every tenth look at most', async () => {
  const { understudy, close } = createTestApp()
  let shrunk = 0
  let bytes = 400e6
  let look: (() => void) | undefined
  const every = (_: number, run: () => void) => {
    look = run
    return () => {}
  }
  const server = { ...understudy, app: { fetch: async () => new Response() } }
  const { app } = withIdleCollection(server, { collect() {}, shrink: () => shrunk++, memory: () => bytes, every })
  const shrunkIn = async (looks: number) => {
    const before = shrunk
    for (let count = 0; count < looks; count++) {
      await app.fetch(new Request('http://localhost/'))
      look?.()
    }
    return shrunk - before
  }
  expect(await shrunkIn(20)).toBe(0)
  bytes = 500e6
  expect(await shrunkIn(1)).toBe(1)
  expect(await shrunkIn(9)).toBe(0)
  expect(await shrunkIn(11)).toBe(2)
  close()
})
