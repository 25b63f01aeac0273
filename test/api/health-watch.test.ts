// Whether the end of a process waits for a balancer, by who has asked for its health.
import { afterAll, describe, expect, test } from 'bun:test'
import { testApps } from '../support/app.ts'

const { appWith, close } = testApps()
afterAll(close)

describe('health watch', () => {
  test.each([
    ['does not take an open page for a balancer', { 'sec-fetch-site': 'same-origin' }, false],
    ['takes a program that polls health for a balancer', {}, true],
  ])('%s', async (_, headers, watched) => {
    const app = appWith()
    for (let check = 0; check < 4; check++)
      expect((await app.fetch('/_understudy/health', { headers })).status).toBe(200)
    expect(app.understudy.watch.isWatched()).toBe(watched)
  })
})
