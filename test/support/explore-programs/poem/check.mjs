import assert from 'node:assert/strict'

export async function check({ poemOf }, connection) {
  assert.equal(typeof (await poemOf(connection, 'a stork')), 'string')
}
