import { expect, test } from 'bun:test'

const { newsOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('a day has news', async () => {
  expect((await newsOf('Monday')).length).toBeGreaterThan(0)
}, 60_000)
