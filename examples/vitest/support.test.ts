// A test is given a session of its own by naming `understudy`.
import { stableTraces } from '@understudy/test'
import { test } from '@understudy/test/vitest'
import { expect } from 'vitest'
import { answerTo } from './support.ts'

test('a customer hears when the refund comes', async ({ understudy }) => {
  const answer = await answerTo('I want a refund for order 117.', understudy)
  expect(answer).toBe('Order 117 will be refunded within three days.')
})

test('a model that is too busy is asked again, after as long as it says', async ({ understudy }) => {
  await understudy.scenario('rate-limit-burst')
  await answerTo('I want a refund for order 118.', understudy)
  const [call] = await understudy.traces()
  expect(call?.attempts.map(({ status }) => status)).toEqual([429, 429, 200])
  await understudy.verify()
})

test('when a provider is down, the other model answers', async ({ understudy }) => {
  await understudy.scenario({
    name: 'no-openai',
    rules: [{ name: 'down', match: { provider: 'openai' }, fault: { type: 'http-error', status: 503 } }],
  })
  await answerTo('I want a refund for order 119.', understudy)
  await understudy.verify({
    expect: [
      { provider: 'openai', attempts: 3 },
      { provider: 'anthropic', attempts: 1 },
    ],
  })
})

test('the request stays as it is', async ({ understudy }) => {
  await understudy.fixtures({ match: { operation: 'chat.completions' }, reply: { content: 'Soon.' } })
  await answerTo('When do you open?', understudy)
  expect(stableTraces(await understudy.traces())).toMatchSnapshot()
})
