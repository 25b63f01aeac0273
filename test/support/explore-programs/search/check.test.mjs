import { expect, jest, test } from '@jest/globals'

const { vectorOf } = await import(`./${process.env.PROGRAM}.mjs`)
jest.setTimeout(30_000)

test('a query has a vector', async () => {
  expect((await vectorOf('storks')).length).toBeGreaterThan(0)
})
