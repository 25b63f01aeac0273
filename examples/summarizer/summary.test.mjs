import assert from 'node:assert/strict'
import { test } from 'node:test'

const { summaryOf } = await import(process.env.PROGRAM ?? './careful.mjs')

test('a text has a summary, or it is said that there is none', async () => {
  const { summary, complete } = await summaryOf('Sum up: the parcel came a day late, and nobody was told.')
  assert.equal(typeof summary, 'string')
  assert.equal(complete || summary === '', true)
})
