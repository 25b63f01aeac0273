import assert from 'node:assert/strict'

export async function check({ translationOf }, connection) {
  const { translation, review } = await translationOf(connection, 'The stork is back.')
  assert.ok(translation.length > 0)
  assert.equal(typeof review, 'string')
}
