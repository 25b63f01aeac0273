// Any settings and any failing providers: the targets, tries, waits and the end are those of a ten-line reference.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { chance } from '../../src/lib/chance.ts'
import { property, runs } from '../support/property.ts'
import {
  A,
  B,
  C,
  closeScripted,
  createScripted,
  drops,
  hangs,
  ROLE,
  refuses,
  type Step,
  said,
  says,
  sends,
  streams,
} from '../support/scripted.ts'

afterAll(closeScripted)

/** What a provider does with one attempt, and what the gateway is to make of it. */
interface Behaviour {
  step: Step
  outcome: string
  status: number
  /** Milliseconds that it asks to wait. */
  advice?: number
}
const TIMEOUT = 500
const statuses = [400, 401, 404, 408, 429, 500, 503]
const refusal = fc
  .record({
    status: fc.constantFrom(...statuses),
    header: fc.constantFrom(...[undefined, ['retry-after', 1000], ['retry-after-ms', 1]]),
    value: fc.nat(90),
  })
  .map(({ status, header, value }): Behaviour => {
    const [name, unit] = header ?? []
    const advice = unit === undefined ? undefined : value * Number(unit)
    return {
      step: refuses(status, name ? { [name]: String(value) } : {}),
      outcome: 'http_error',
      status,
      ...(advice !== undefined && advice <= 60_000 && { advice }),
    }
  })
const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { arbitrary: refusal, weight: 6 },
  fc.constant({ step: drops, outcome: 'disconnected', status: 502 }),
  fc.constant({ step: hangs, outcome: 'timed_out', status: 504 }),
  fc.constant({ step: sends(' '), outcome: 'invalid_response', status: 502 }),
  fc.constant({ step: says('Yes.'), outcome: 'succeeded', status: 200 }),
)
const retry = fc.record(
  { count: fc.integer({ min: 1, max: 5 }), on_codes: fc.uniqueArray(fc.constantFrom(...statuses)) },
  { requiredKeys: [] },
)
const models = fc.constantFrom(A, B, C)
const call = fc.record({
  stream: fc.boolean(),
  retry: fc.option(retry),
  /** Where the retry settings stand. */
  inOptions: fc.boolean(),
  fallbacks: fc.array(models, { maxLength: 3 }),
  balanced: fc.option(fc.uniqueArray(models, { minLength: 1 })),
  /** Of the attempts in their order; after these the last one goes on. */
  behaviours: fc.array(behaviour, { minLength: 1, maxLength: 12 }),
})
type Call = Parameters<Parameters<typeof call.map>[0]>[0]

/** The attempts of a call, as `target number wait outcome status`, worked out anew. */
function reference(
  { retry, fallbacks, behaviours }: Call,
  first: string,
  luck: (target: number, number: number) => number,
) {
  const lines: string[] = []
  for (const [position, target] of [first, ...fallbacks].entries()) {
    for (let number = 1, wait = 0; ; number++) {
      const { outcome, status, advice } = behaviours[Math.min(lines.length, behaviours.length - 1)] as Behaviour
      lines.push(`${target} ${number} ${wait} ${outcome} ${status}`)
      if (outcome === 'succeeded') return lines
      const again = outcome !== 'http_error' || (retry?.on_codes ?? [429]).includes(status)
      wait = advice ?? Math.round(1000 * 2 ** (number - 1) * (0.75 + luck(position, number) / 2))
      if (retry && again && number <= (retry.count ?? 3)) continue
      if (outcome === 'http_error' && status !== 408 && status !== 429 && status < 500) return lines
      break
    }
  }
  return lines
}

/** An application whose providers do what the call of the moment says. */
function play(seed: number) {
  let behaviours: readonly Behaviour[] = []
  let made = 0
  const app = createScripted(() => (behaviours[Math.min(made++, behaviours.length - 1)] as Behaviour).step, { seed })
  return {
    ...app,
    async make(one: Call): Promise<StoredTrace> {
      behaviours = one.behaviours
      made = 0
      const { stream, balanced } = one
      const answer = await app.ask({
        stream,
        ...(one.inOptions ? { svc: { retry: one.retry } } : { retry: one.retry }),
        fallbacks: one.fallbacks.map((model) => ({ model })),
        timeout: { call_timeout: TIMEOUT },
        load_balancer: balanced && { type: 'weight_based', models: balanced.map((model) => ({ model })) },
      })
      expect(answer.headers.get('x-understudy-attempts')).toBe(String(made))
      return app.traceOf(answer)
    },
  }
}

property(
  'property: attempts have the order, number, waits and end of the reference',
  async () => {
    const seed = 3
    const { make } = play(seed)
    let calls = 0
    await fc.assert(
      fc.asyncProperty(call, async (one) => {
        const seq = ++calls
        const trace = await make(one)
        const { plan, attempts } = trace
        const [first = ''] = plan
        expect(plan).toEqual([first, ...one.fallbacks])
        if (one.balanced) expect(one.balanced as string[]).toContain(first)
        else expect(first).toBe(A)

        const luck = (position: number, number: number) => chance(seed, 'default', 'retry', seq, position, number)
        const lines = reference(one, first, luck)
        expect(attempts.map((a) => `${a.target} ${a.number} ${a.wait_ms} ${a.outcome} ${a.status}`)).toEqual(lines)
        expect(lines.length).toBeLessThanOrEqual(
          (1 + (one.retry ? (one.retry.count ?? 3) : 0)) * (1 + one.fallbacks.length),
        )

        const last = attempts.at(-1)
        expect([trace.outcome, trace.status, trace.model]).toEqual([last?.outcome, last?.status, last?.target] as never)
        expect((trace.response as { choices: object[] } | null)?.choices ?? null).toEqual(
          trace.outcome === 'succeeded'
            ? [expect.objectContaining({ message: expect.objectContaining({ content: 'Yes.' }) })]
            : null,
        )
        const spent = attempts.map(({ wait_ms, outcome }) => wait_ms + (outcome === 'timed_out' ? TIMEOUT : 0))
        expect(trace.duration_ms).toBe(spent.reduce((sum, ms) => sum + ms, 0))
      }),
      { seed: 5, numRuns: runs(400) },
    )
  },
  60_000,
)

property(
  'property: the same seed gives the same traces to the last byte, and another seed gives others',
  async () => {
    const calls = fc.sample(call, { seed: 6, numRuns: runs(40) })
    const traces = async (seed: number) => {
      const { make } = play(seed)
      const made: StoredTrace[] = []
      for (const one of calls) made.push(await make(one))
      return JSON.stringify(made)
    }
    const [one, again, other] = [await traces(1), await traces(1), await traces(2)]
    expect(again).toBe(one)
    expect(other).not.toBe(one)
  },
  60_000,
)

property(
  'property: a stream cut after its first content is never retried, whatever the settings',
  async () => {
    const cut = { step: streams(ROLE, said('Half')), outcome: 'disconnected', status: 502 }
    const { make } = play(4)
    await fc.assert(
      fc.asyncProperty(call, fc.nat(3), async (one, before) => {
        const failing = one.behaviours.filter(({ outcome }) => outcome !== 'succeeded').slice(0, before)
        const trace = await make({ ...one, stream: true, behaviours: [...failing, cut] })
        const reachedIt = trace.attempts.length > failing.length
        expect(trace.attempts.length).toBeLessThanOrEqual(failing.length + 1)
        expect(trace.status === 200).toBe(reachedIt)
        if (reachedIt)
          expect(trace).toMatchObject({ outcome: 'disconnected', error: { code: 'provider_disconnected' } })
      }),
      { seed: 7, numRuns: runs(100) },
    )
  },
  60_000,
)
