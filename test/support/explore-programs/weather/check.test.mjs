import { expect, test } from 'bun:test'

const { answerOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('a question about the weather has an answer', async () => {
  expect((await answerOf('Do I need an umbrella?')).length).toBeGreaterThan(0)
}, 60_000)
