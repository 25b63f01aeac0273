import { expect, test } from 'bun:test'
import { seedAsJson, shippedSeed } from '../../src/resources/seeds/seed-file.ts'

test('shipped seed: is the same after the build has stored it as JSON', () => {
  expect(JSON.parse(seedAsJson())).toStrictEqual(shippedSeed().seed)
})
