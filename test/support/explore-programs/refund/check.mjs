import assert from 'node:assert/strict'

export async function check({ refundOf }, connection) {
  assert.ok((await refundOf(connection, 'My parcel is broken.', async () => true)).length > 0)
}
