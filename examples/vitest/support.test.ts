// A test that names `understudy` has its own session.
import { stableTraces, type Understudy } from '@understudy/test'
import { test } from '@understudy/test/vitest'
import { expect } from 'vitest'
import { answerTo } from './support.ts'

const providers = ({ baseURL, url, apiKey }: Understudy) => ({
  openai: { baseURL, apiKey },
  anthropic: { baseURL: url, apiKey },
})

test('a customer hears when the refund comes', async ({ understudy }) => {
  const answer = await answerTo('I want a refund for order 117.', providers(understudy))
  expect(answer).toBe('Order 117 will be refunded within three days.')
})

test('a rate-limited call is repeated after Retry-After', async ({ understudy }) => {
  await understudy.scenario('rate-limit-burst')
  await answerTo('I want a refund for order 118.', providers(understudy))
  const calls = await understudy.traces()
  expect(calls.map(({ status }) => status)).toEqual([429, 429, 200])
  await understudy.verify()
})

test('Anthropic answers when OpenAI is down', async ({ understudy }) => {
  await understudy.scenario({
    name: 'no-openai',
    rules: [{ name: 'down', match: { provider: 'openai' }, fault: { type: 'http-error', status: 503 } }],
  })
  await answerTo('I want a refund for order 119.', providers(understudy))
  await understudy.verify({
    expect: [
      { provider: 'openai', calls: 3 },
      { provider: 'anthropic', calls: 1 },
    ],
  })
})

test('the request stays as it is', async ({ understudy }) => {
  await understudy.fixtures({ match: { operation: 'chat.completions' }, reply: { content: 'Soon.' } })
  await answerTo('When do you open?', providers(understudy))
  expect(stableTraces(await understudy.traces())).toMatchSnapshot()
})
