// Garbage is collected in the first pause after many calls, and at no other time.
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
