import assert from 'node:assert/strict'
import { test } from 'node:test'

const { refundOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('a customer gets the money back, and a letter', async () => {
  assert.ok((await refundOf('My parcel is broken.', async () => true)).length > 0)
})
