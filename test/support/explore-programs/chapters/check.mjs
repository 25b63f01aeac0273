import assert from 'node:assert/strict'

export async function check({ summariesOf }, connection) {
  assert.equal((await summariesOf(connection, ['Storks', 'Cranes', 'Herons'])).length, 3)
}
