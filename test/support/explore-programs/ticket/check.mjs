import assert from 'node:assert/strict'

export async function check({ ticketOf }, connection) {
  assert.ok(['delivery', 'invoice', 'other'].includes((await ticketOf(connection, 'My parcel is broken.')).topic))
}
