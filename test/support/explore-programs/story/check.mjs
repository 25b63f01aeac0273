import assert from 'node:assert/strict'

export async function check({ storyOf }, connection) {
  assert.ok((await storyOf(connection, 'a stork')).length > 0)
}
