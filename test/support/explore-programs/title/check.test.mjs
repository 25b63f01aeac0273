import { expect, test } from 'vitest'

const { titleOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('an article has a title', { timeout: 30_000 }, async () => {
  expect((await titleOf('Storks have returned to the village.')).length).toBeGreaterThan(0)
})
