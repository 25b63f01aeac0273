import assert from 'node:assert/strict'
import { test } from 'node:test'

const { storyOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('a topic becomes a story', async () => {
  assert.ok((await storyOf('a stork')).length > 0)
})
