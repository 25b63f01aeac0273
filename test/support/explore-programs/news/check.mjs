import assert from 'node:assert/strict'

export async function check({ newsOf }, connection) {
  assert.ok((await newsOf(connection, 'Monday')).length > 0)
}
