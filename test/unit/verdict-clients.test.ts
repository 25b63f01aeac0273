// Compliant clients have no findings and violating ones do: thousands of simulated clients are judged.
import { describe, expect, setDefaultTimeout } from 'bun:test'
import type { Finding, FindingKind } from '../../src/contract/core/finding.ts'
import { judgeClient } from '../../src/verdict/findings.ts'
import { compliantAgents } from '../support/agent-conversations.ts'
import { compliantRun } from '../support/compliant-clients.ts'
import { property, runs, test } from '../support/property.ts'
import { createClient, createWorld, type Day, type Fate, luckOf, OK } from '../support/simulated-clients.ts'
import {
  backTooEarly,
  halfAnswer,
  halfStories,
  lostItems,
  lostPart,
  neverRepeats,
  plants,
  slowCrowd,
  violatingRun,
} from '../support/violating-clients.ts'

// A few seconds of pure work, on a machine that may be busy.
setDefaultTimeout(120_000)
/** The days of compliant clients, and those of each violation. Of 130,000 compliant days four were misjudged: `FC_RUNS=100` plays as many. */
const COMPLIANT = Math.max(200, runs(1_000))
const VIOLATING = runs(200)

const judge = ({ calls, accept, end, maxAttempts }: Day): Finding[] =>
  judgeClient(calls, { accept, end, maxAttempts }).findings.filter(({ accepted }) => !accepted)
const seedsUpTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const isUnproved = ({ kind, severity }: Finding) => severity === 'warning' && UNPROVED.includes(kind)

/** What a correct client may be warned of, since nobody can tell it from others: a retry without any mark or pause, and its last error. */
const UNPROVED: FindingKind[] = ['swallowed', 'gave-up', 'no-backoff']

property(`compliant clients: have no error in ${COMPLIANT} generated runs, and few warnings`, () => {
  let calls = 0
  const warned: Partial<Record<FindingKind, number>> = {}
  const accused = seedsUpTo(COMPLIANT).flatMap((seed) => {
    const day = compliantRun(seed)
    calls += day.calls.length
    const found = judge(day)
    for (const { kind } of found) warned[kind] = (warned[kind] ?? 0) + 1
    const wrong = found.filter(({ kind, severity }) => severity === 'error' || !UNPROVED.includes(kind))
    return wrong.map(({ kind, message }) => ({ seed, kind, message }))
  })
  expect(accused.slice(0, 3)).toEqual([])
  // Half of the retries of unmarked clients come at once: those of streams that broke off are the most of it.
  expect(warned.swallowed ?? 0).toBeLessThan(0.2 * COMPLIANT)
  expect(warned['gave-up'] ?? 0).toBeLessThan(0.08 * COMPLIANT)
  expect(warned['no-backoff'] ?? 0).toBeLessThan(0.01 * COMPLIANT)
  // The days are full: a judge of nothing accuses nobody.
  expect(calls).toBeGreaterThan(10 * COMPLIANT)
})

test.each([41_547, 53_263, 89_197, 102_318])(
  'compliant clients: have no error in run %d, which was once misjudged',
  (seed) => {
    expect(judge(compliantRun(seed)).filter((found) => !isUnproved(found))).toEqual([])
  },
)

property(`compliant agents: have no finding of their conversations in ${COMPLIANT} generated runs`, () => {
  const kinds: FindingKind[] = ['compaction-loop', 'executed-truncated', 'cache-prefix-broken']
  const accused = seedsUpTo(COMPLIANT).flatMap((seed) => {
    const day = compliantAgents(seed)
    const wrong = judge(day).filter(({ kind }) => kinds.includes(kind))
    return wrong.map(({ kind, message }) => ({ seed, habits: day.habits, kind, message }))
  })
  expect(accused.slice(0, 3)).toEqual([])
})

describe(`generated violations in ${VIOLATING} runs each`, () => {
  // Who hammers takes no notice of waits either, and stops without an answer.
  const beside: Partial<Record<FindingKind, FindingKind[]>> = {
    // Its equal calls are as those of a loop with a timer, now and then.
    'compaction-loop': ['ignored-status'],
    'retry-storm': ['early-retry', 'gave-up', 'retry-amplification'],
  }

  property.each(Object.keys(plants) as (keyof typeof plants)[])(
    'have their finding and no unexplained other: %s',
    (kind) => {
      const explained = [kind, ...(beside[kind] ?? [])]
      const wrong = seedsUpTo(VIOLATING).flatMap((seed) => {
        const found = judge(violatingRun(kind, seed))
        const isRight =
          found.some((one) => one.kind === kind) &&
          found.every((one) => explained.includes(one.kind) || isUnproved(one))
        return isRight ? [] : [{ seed, found }]
      })
      expect(wrong.slice(0, 3)).toEqual([])
    },
  )

  property('report no more unanswered requests than there are', () => {
    const wrong = seedsUpTo(VIOLATING).flatMap((seed) => {
      const found = judge(violatingRun('gave-up', seed)).filter(({ kind }) => kind === 'gave-up')
      return found.every(({ count }) => count === 1) && found.length === 1 ? [] : [{ seed, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  property('report a failure that was never repeated as an error', () => {
    const wrong = seedsUpTo(VIOLATING).flatMap((seed) => {
      const found = judge(neverRepeats(seed)).filter(({ kind }) => kind === 'gave-up')
      return found.length === 1 && found[0]?.severity === 'error' ? [] : [{ seed, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  property('report each item that a batch loses, even when all items end with the same words', () => {
    const wrong = seedsUpTo(VIOLATING).flatMap((seed) => {
      const { lost, ...day } = lostItems(seed)
      const found = judge(day).filter(({ kind }) => kind === 'gave-up')
      const isRight = found.length > 0 && found.every(({ severity }) => severity === 'error')
      return isRight && found.reduce((sum, { count }) => sum + count, 0) === lost ? [] : [{ seed, lost, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  property.each([
    ['a lost part of a batch', lostPart, 'gave-up', 'error'],
    ['half a response taken for a whole one', halfAnswer, 'swallowed', 'warning'],
    ['an API key used again before its wait is over', backTooEarly, 'early-retry', 'error'],
  ] as const)('have exactly their finding: %s', (_, day, kind, severity) => {
    const wrong = seedsUpTo(VIOLATING).flatMap((seed) => {
      const found = judge(day(seed)).filter((one) => one.kind === kind || !isUnproved(one))
      return found.length === 1 && found[0]?.kind === kind && found[0].severity === severity ? [] : [{ seed, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  property('report all half responses that users receive in sequence', () => {
    const wrong = seedsUpTo(VIOLATING).flatMap((seed) => {
      const { users, ...day } = halfStories(seed)
      const found = judge(day).filter(({ kind }) => kind === 'swallowed')
      const isRight = found.length === 1 && found[0]?.severity === 'warning' && found[0].count === users
      const { message = '' } = found[0] ?? {}
      return isRight &&
        message === `${users} responses were incomplete; ${users - 1} may be ${users === 2 ? 'a retry' : 'retries'}`
        ? []
        : [{ seed, users, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  property('report slow equal calls at once as given up and not as repeats', () => {
    const wrong = seedsUpTo(VIOLATING).flatMap((seed) => {
      const { calls, failed } = slowCrowd(seed)
      const found = judgeClient(calls, { end: 'well' }).findings.map(({ kind, count }) => ({ kind, count }))
      return Bun.deepEquals(found, [{ kind: 'gave-up', count: failed }]) ? [] : [{ seed, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  property('unknown-path', () => {
    const missed = seedsUpTo(VIOLATING).filter((seed) => {
      const { calls, accept, end } = compliantRun(seed)
      const path = { method: 'POST', count: 1 + (seed % 9), at: '2025-01-01T00:00:00.000Z' }
      const unknownPaths = [
        { ...path, path: '/v1/chat/completions', suggestion: '/v2/router/chat/completions' },
        { ...path, method: 'GET', path: '/favicon.ico', suggestion: null },
      ]
      const found = judgeClient(calls, { accept, end, unknownPaths }).findings.filter(
        (one) => !one.accepted && !isUnproved(one),
      )
      return found.length !== 1 || found[0]?.kind !== 'unknown-path' || found[0].severity !== 'error'
    })
    expect(missed).toEqual([])
  })
})

describe('parallel workers with one prompt on one connection', () => {
  const step = 40
  const wait = 1_000
  const CALL = {
    ...{ operation: 'chat.completions', model: 'openai/gpt-4o', request: 'r', body: { messages: ['Hello!'] } },
    ...{ retry: null, key: null, connection: 'one' },
  }
  /** What is found of calls every 40 ms, the last `good` of which are answered; all others are told to wait a second. */
  const found = (count: number, good: number) => {
    const world = createWorld(luckOf(1))
    const refused: Fate = { outcome: 'http_error', status: 429, wait }
    for (let index = 0; index < count; index++) {
      const fate = index < count - good ? refused : OK
      world.after(index * step, () => void world.send(CALL, fate, () => {}))
    }
    world.run()
    return judge({ calls: world.calls, accept: [], end: 'well' }).map(({ kind }) => kind)
  }
  test('have no retry storm when each of 25 waits a second and is answered at last', () => {
    expect(found(125, 25)).not.toContain('retry-storm')
  })
  test('have a retry storm when one client ignores waits, answered or not', () => {
    expect(found(125, 1)).toContain('retry-storm')
    expect(found(125, 0)).toContain('retry-storm')
  })
})

describe('client that counts its tries', () => {
  /** What is found of so many failures one after the other, each repeated at once or after the ms of its number. */
  const found = (count: number, pauseOf = (_: number) => 0) => {
    const world = createWorld(luckOf(1))
    const client = createClient(world, { marks: 'count', connections: 'pool' }, luckOf(1))
    const key = client.newKey()
    const call = (repeat: number) => {
      if (repeat === count) return
      client.call({ question: 'Hello!', repeat, key }, { outcome: 'http_error', status: 503 }, () =>
        world.after(pauseOf(repeat), () => call(repeat + 1)),
      )
    }
    call(0)
    world.run()
    return judge({ calls: world.calls, accept: [], end: 'well' }).map(({ kind }) => kind)
  }
  test('has a no-backoff finding after ten tries', () => {
    expect(found(10)).toContain('no-backoff')
    expect(found(10)).not.toContain('retry-storm')
  })
  test('has a retry storm after eleven', () => {
    expect(found(11)).toContain('retry-storm')
    expect(found(11)).not.toContain('no-backoff')
  })
  test('has no retry storm with grown pauses, even short and equal ones', () => {
    expect(found(20, () => 100)).toContain('retry-storm')
    expect(found(20, (number) => (number < 7 ? 20 : 100))).not.toContain('retry-storm')
  })
})

describe('client that counts its tries and disconnects from each', () => {
  /** What is found of calls that were left after these ms, all the same request. */
  const found = (...lengths: number[]) => {
    const world = createWorld(luckOf(1))
    const client = createClient(world, { marks: 'count', connections: 'none' }, luckOf(1))
    const key = client.newKey()
    const call = (repeat: number) => {
      const length = lengths[repeat]
      if (length === undefined) return
      const left = client.call({ question: 'Hello!', repeat, key }, { ...OK, lasts: 60_000 }, () => {})
      world.after(length, () => {
        left.cancel()
        world.after(500, () => call(repeat + 1))
      })
    }
    call(0)
    world.run()
    return judge({ calls: world.calls, accept: [], end: 'well' }).map(({ kind, severity }) => `${kind} ${severity}`)
  }
  test('has a gave-up finding when its timer is inexact, as on a busy machine', () => {
    expect(found(300, 620, 390)).toEqual(['gave-up warning'])
    expect(found(620, 300, 390)).toEqual(['gave-up warning'])
  })
  test('has no finding when its user may have stopped the last try', () => {
    expect(found(300, 300, 100)).toEqual([])
  })
})

describe('client that leaves a broken stream and makes the call again', () => {
  /** What is found of streams that were left after their first part, all the same request, with this pause between them. */
  const found = (count: number, { pause = 500, faulty = true, end = 'unknown' as Day['end'], last = [] as Fate[] }) => {
    const world = createWorld(luckOf(1))
    const client = createClient(world, { marks: 'none', connections: 'none' }, luckOf(1))
    const key = client.newKey()
    const ask = (fate: Fate) => client.call({ question: 'Hello!', repeat: 0, key }, fate, () => {})
    const call = (repeat: number) => {
      if (repeat === count) return last.forEach(ask)
      const left = ask({ ...OK, stream: true, begins: 10, lasts: 60_000 })
      world.after(100 + 20 * repeat, () => {
        left.cancel()
        world.after(pause, () => call(repeat + 1))
      })
    }
    call(0)
    world.run()
    for (const one of world.calls) one.faulty = faulty
    return judge({ calls: world.calls, accept: [], end }).map(({ kind, severity }) => `${kind} ${severity}`)
  }
  test('has a gave-up warning when it stops without a response', () => {
    expect(found(4, {})).toEqual(['gave-up warning'])
    expect(found(2, {})).toEqual(['gave-up warning'])
  })
  test('has none when a response came at last, it reported an error, or no fault was in the streams', () => {
    expect(found(3, { last: [OK] })).toEqual([])
    expect(found(3, { end: 'badly' })).toEqual([])
    expect(found(3, { faulty: false })).toEqual([])
  })
  test('has a swallowed warning when nothing shows that the later calls are retries', () => {
    expect(found(1, {})).toEqual(['swallowed warning'])
    expect(found(3, { pause: 0 })).toEqual(['swallowed warning'])
  })
})
