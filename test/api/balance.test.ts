// The load balancer: one keyed pick a call by weight, and its consequences.
import { afterAll, describe, expect, test } from 'bun:test'
import { errorOf } from '../support/errors.ts'
import {
  A,
  attemptsOf,
  B,
  C,
  closeScripted,
  createScripted,
  FORMS,
  refuses,
  says,
  textOf,
} from '../support/scripted.ts'

afterAll(closeScripted)
const among = (...models: { model: string; weight?: number }[]) => ({ type: 'weight_based', models })
const all = { [A]: [says('A')], [B]: [says('B')], [C]: [says('C')] }

/** The models that so many calls went to. */
async function picks(balancer: object, calls: number, seed = 0): Promise<string[]> {
  const app = createScripted(all, { seed })
  for (let call = 0; call < calls; call++) await app.ask({ load_balancer: balancer })
  return app.reached.map(({ model }) => model)
}
const share = (models: readonly string[], model: string) => models.filter((one) => one === model).length / models.length

describe('load balancer weights', () => {
  test.each<[what: string, balancer: object, shares: [number, number, number]]>([
    ['equal weights', among({ model: A, weight: 0.5 }, { model: B, weight: 0.5 }), [0.5, 0.5, 0]],
    ['missing weights, which are equal', among({ model: A }, { model: B }, { model: C }), [1 / 3, 1 / 3, 1 / 3]],
    ['one missing weight, which is 0.5', among({ model: A, weight: 1 }, { model: B }), [2 / 3, 1 / 3, 0]],
    ['weights that do not add up to 1', among({ model: A, weight: 0.1 }, { model: B, weight: 0.3 }), [0.25, 0.75, 0]],
    [
      'the same model twice',
      among({ model: A, weight: 0.5 }, { model: B, weight: 0.5 }, { model: A, weight: 1 }),
      [0.75, 0.25, 0],
    ],
    ['a very small weight', among({ model: A, weight: 0.001 }, { model: B, weight: 1 }), [0.001, 0.999, 0]],
    ['a single model', among({ model: C, weight: 0.001 }), [0, 0, 1]],
  ])('distribute the calls for %s', async (_, balancer, shares) => {
    const models = await picks(balancer, 200)
    for (const [index, model] of [A, B, C].entries()) {
      const wanted = shares[index] ?? 0
      // Three standard deviations; none at all where there is no chance.
      const slack = 3 * Math.sqrt((wanted * (1 - wanted)) / models.length)
      expect(Math.abs(share(models, model) - wanted)).toBeLessThanOrEqual(slack)
    }
  })
})

test('load balancer: picks by the seed and the number of the call', async () => {
  const balancer = among({ model: A }, { model: B }, { model: C })
  const models = await picks(balancer, 30, 7)
  expect(await picks(balancer, 30, 7)).toEqual(models)
  expect(await picks(balancer, 30, 8)).not.toEqual(models)
  const app = createScripted(all, { seed: 7 })
  const answers = await Promise.all(models.map(() => app.ask({ load_balancer: balancer })))
  expect(answers.map(({ headers }) => headers.get('x-understudy-model') ?? '')).toEqual(models)
})

describe.each(FORMS)('load balancer, %s', (_, stream) => {
  test('ignores the model of the body', async () => {
    const app = createScripted(all)
    const answer = await app.ask({ stream, model: 'nobody/nothing', load_balancer: among({ model: B }) })
    expect(textOf(answer)).toBe('B')
    expect(await app.traceOf(answer)).toMatchObject({ plan: [B], model: B })
  })

  test('retries its pick and uses the fallbacks, never its other models', async () => {
    const app = createScripted({ [A]: [refuses(429)], [B]: [refuses(429)], [C]: [says('C')] })
    const load_balancer = among({ model: A }, { model: B })
    for (let call = 0; call < 8; call++) {
      const answer = await app.ask({ stream, load_balancer, retry: { count: 1 }, fallbacks: [{ model: C }] })
      const { plan } = await app.traceOf(answer)
      const [pick] = plan
      expect([A, B] as string[]).toContain(pick as string)
      expect(plan).toEqual([pick as string, C])
      expect(await attemptsOf(app, answer)).toEqual([
        ...[`${pick} 1 first http_error 429`, `${pick} 2 retry http_error 429`, `${C} 1 fallback succeeded 200`],
      ])
      expect(answer.headers.get('x-understudy-fallback')).toBe('1')
    }
    expect(new Set(app.reached.map(({ model }) => model)).size).toBe(3)
  })
})

test.each<[what: string, balancer: unknown, status: number, param: string]>([
  ['a weight of 0', among({ model: A, weight: 0 }), 400, 'load_balancer.models[0].weight'],
  ['a weight below 0.001', among({ model: A, weight: 0.0009 }), 400, 'load_balancer.models[0].weight'],
  ['a weight above 1', among({ model: A }, { model: B, weight: 1.01 }), 400, 'load_balancer.models[1].weight'],
  ['an empty list of models', among(), 400, 'load_balancer.models'],
  ['another type', { ...among({ model: A }), type: 'round_robin' }, 400, 'load_balancer.type'],
  ['an invalid model', among({ model: 'gpt 4o' }), 400, 'load_balancer.models[0].model'],
  ['an unknown provider', among({ model: 'nobody/x' }), 404, 'load_balancer.models[0].model'],
])('load balancer: rejects %s before any attempt', async (_, balancer, status, param) => {
  const app = createScripted(all)
  expect(errorOf((await app.ask({ load_balancer: balancer })).text, status).param).toBe(param)
  expect(app.reached).toEqual([])
})
