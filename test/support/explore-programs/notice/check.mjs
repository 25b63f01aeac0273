import assert from 'node:assert/strict'

export async function check({ noticeOf }, connection) {
  assert.ok((await noticeOf(connection, 'a lost stork')).length > 0)
}
