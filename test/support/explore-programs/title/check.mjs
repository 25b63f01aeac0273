import assert from 'node:assert/strict'

export async function check({ titleOf }, connection) {
  assert.ok((await titleOf(connection, 'Storks have returned to the village.')).length > 0)
}
