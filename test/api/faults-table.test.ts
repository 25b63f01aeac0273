// Every registered fault type, on whole and streamed responses of fixtures and of a provider: the bytes that a client receives when it
// acts at the gateway, and the gateway's reaction when it acts at the provider.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { faultKinds } from '../../src/faults/index.ts'
import { errorOf } from '../support/errors.ts'
import { ROWS, unharmed } from '../support/fault-rows.ts'
import { blocksOf, type Heard, type Rehearsal, rehearsal, STREAMING } from '../support/faults.ts'

const kinds = faultKinds.filter(({ points }) => points.includes('provider') || points.includes('gateway'))

test('fault table: has a row for every type and no other', () => {
  expect(kinds.map(({ type }) => type).sort()).toEqual(Object.keys(ROWS).sort())
})

const fixtures = rehearsal()
afterAll(fixtures.close)

const cases = Object.keys(STREAMING).flatMap((operation) =>
  [false, true].map((stream) => ({ operation, stream, form: stream ? 'streamed' : 'whole' }) as const),
)

describe.each(cases)('fault table, $form $operation', ({ operation, stream, form }) => {
  let healthy = ''
  let provider: Rehearsal | undefined
  beforeAll(async () => {
    healthy = (await fixtures.hear({ operation, stream })).text
    provider = rehearsal(() => healthy)
    expect((await provider.hear({ operation, stream })).text).toBe(healthy)
  })
  afterAll(() => provider?.close())

  for (const { type, example, points } of kinds) {
    const row = ROWS[type]?.[form]
    const hear = (backend: Rehearsal | undefined, point: 'provider' | 'gateway', more?: object): Promise<Heard> => {
      if (!backend) throw new Error('there is no provider')
      return backend.hear({ operation, stream, point, fault: { type, ...example }, ...(more && { more }) })
    }
    const matches = (text: string) => {
      const wire = row ? row.wire(healthy, operation) : healthy
      if (typeof wire !== 'string') expect(text).toMatch(wire)
      // The failed response that comes after it is read in a test of its own.
      else if (type === 'stream-error') expect(text).toStartWith(wire)
      else expect(text).toBe(wire)
    }
    const backends = [
      ['fixtures', () => fixtures],
      ['a provider', () => provider],
    ] as const
    // Legacy completions of a provider are read as its chat completions are.
    const own = operation === 'completions' ? backends.slice(0, 1) : backends
    describe.each(own)(`${type} on %s`, (name, backend) => {
      // A client that hangs has to go by itself, which is a test of its own. What a fault at the gateway is given is the
      // gateway's own response, wherever that comes from.
      const atGateway = name === 'fixtures' || operation === 'chat.completions'
      if (points.includes('gateway') && type !== 'hang' && atGateway) {
        test('sends the expected bytes at the gateway', async () => {
          const heard = await hear(backend(), 'gateway')
          expect(heard.status).toBe(row?.status ?? 200)
          expect(heard.rule).toMatchObject(row ? { applied: 1, skipped: {} } : { applied: 0 })
          expect(Object.values(heard.rule?.skipped ?? {})).toEqual(row ? [] : [1])
          matches(heard.text)
          expect(heard.broken !== undefined).toBe(row?.breaks === true)
          if (heard.text === '') return
          const usual = stream && heard.status === 200 ? 'text/event-stream' : 'application/json'
          expect(heard.headers.get('content-type')).toStartWith(row?.contentType ?? usual)
        })
      }

      test('sends the expected bytes at the provider', async () => {
        const heard = await hear(backend(), 'provider', row?.more)
        const { outcome, told, status = 502 } = row ?? unharmed
        expect(heard.trace.attempts.map((attempt) => attempt.outcome)).toEqual([outcome])
        expect(heard.trace.outcome).toBe(outcome)
        expect(heard.broken).toBeUndefined()
        if (told === 'healthy') expect(heard.text).toBe(healthy)
        else if (told === 'as sent') matches(heard.text)
        else if (told === 'error') {
          expect(heard.status).toBe(status)
          expect(errorOf(heard.text, status).message).not.toBe('')
        } else brokenOff(heard, String(row?.wire(healthy, operation)))
      })
    })
  }
})

/** A stream that has begun and failed: all that was whole of it, then an error, and nothing that says it is complete. */
function brokenOff({ status, text }: Heard, wire: string): void {
  expect(status).toBe(200)
  const blocks = blocksOf(text)
  const failed = blocks.findIndex((block) => block.includes('"error":{"message"'))
  expect(failed).toBeGreaterThan(5)
  expect(wire).toStartWith(blocks.slice(0, failed).join(''))
  expect(text).not.toContain('[DONE]')
  expect(text).not.toContain('response.completed')
}
