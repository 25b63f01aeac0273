// A program with one call, and its test: what most people explore first.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'

const client = new OpenAI({ timeout: 2_000 })

test('a text is summed up', async () => {
  const response = await client.chat.completions.create({
    model: 'openai/gpt-4o-mini',
    messages: [{ role: 'user', content: 'Sum up: the parcel came a day late, and nobody was told.' }],
  })
  const { finish_reason: reason, message } = response.choices[0]
  assert.equal(reason, 'stop')
  assert.ok(message.content.length > 0)
})
