// `needs` of a scenario: a session that lacks one of them is inconclusive, whatever the scenario expects.
import { afterAll, describe, expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createTestApp } from '../support/app.ts'
import { bodyOf } from '../support/chat.ts'
import { playing } from '../support/scenario.ts'

const app = createTestApp()
afterAll(app.close)

type Step = object | { advance: string }
const fault = { type: 'delay', for: '1ms' }

/** The verdict on a session that makes these calls, or lets time pass, under a scenario with these needs. */
async function verdictOn(needs: object, steps: readonly Step[], expected: object[] = []): Promise<Verification> {
  const { prefix, post } = await playing(app, [{ fault }], { needs, expect: expected })
  for (const step of steps)
    if ('advance' in step) await app.post(`/_understudy/sessions/${prefix.slice(3)}/clock`, step)
    else await post('/v1/chat/completions', bodyOf(step))
  return (await app.fetch(`${prefix}/_understudy/verify`)).json() as unknown as Verification
}

const needs: [needs: object, lacking: Step[], reason: string, meeting: Step[]][] = [
  [{ calls: 3 }, [{}, {}], 'at least 3 calls; the session made 2', [{}, {}, {}]],
  [
    { elapsed: '30s' },
    [{}, { advance: '20s' }, {}, { advance: '1m' }],
    "30 s on the session's clock; its last call came after 20 s",
    [{}, { advance: '30s' }, {}],
  ],
  [{ stream: true }, [{}], 'a streamed call', [{}, { stream: true }]],
  [
    { gateway: true },
    [{}],
    'a call with gateway options, such as retry or fallbacks, in its body',
    [{ retry: { count: 1 } }],
  ],
]

describe.each(needs)('scenario needs %j', (needed, lacking, reason, meeting) => {
  test('is inconclusive with the reason when they are missing', async () => {
    const report = await verdictOn(needed, lacking, [{ outcome: 'succeeded', calls: 9 }])
    expect([report.verdict, report.inconclusive]).toEqual(['inconclusive', [`this scenario needs ${reason}`]])
  })

  test('judges the client by its expectations when they are there', async () => {
    expect(await verdictOn(needed, meeting)).toMatchObject({ verdict: 'pass', inconclusive: [] })
    expect(await verdictOn(needed, meeting, [{ outcome: 'succeeded', calls: 9 }])).toMatchObject({ verdict: 'fail' })
  })
})

test('scenario needs: have a reason for each that is missing', async () => {
  const { inconclusive } = await verdictOn({ calls: 2, stream: true, agent: true }, [{}])
  expect(inconclusive).toEqual([
    'this scenario needs at least 2 calls; the session made 1',
    'this scenario needs a streamed call',
    'this scenario needs an agent task',
  ])
})
