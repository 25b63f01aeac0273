import assert from 'node:assert/strict'
import { test } from 'node:test'

const { poemOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('a topic becomes a poem', async () => {
  assert.equal(typeof (await poemOf('a stork')), 'string')
})
