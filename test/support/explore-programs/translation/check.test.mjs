import { expect, jest, test } from '@jest/globals'

const { translationOf } = await import(`./${process.env.PROGRAM}.mjs`)
jest.setTimeout(30_000)

test('a text is translated', async () => {
  const { translation, review } = await translationOf('The stork is back.')
  expect(translation.length).toBeGreaterThan(0)
  expect(typeof review).toBe('string')
})
