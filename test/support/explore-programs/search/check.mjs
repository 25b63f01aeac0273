import assert from 'node:assert/strict'

export async function check({ vectorOf }, connection) {
  assert.ok((await vectorOf(connection, 'storks')).length > 0)
}
