import assert from 'node:assert/strict'

export async function check({ answerOf }, connection) {
  assert.ok((await answerOf(connection, 'Do I need an umbrella?')).length > 0)
}
