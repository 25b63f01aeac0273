// Each test has its own session, so each has its own fault at the same time.
import { expect } from 'bun:test'
import { test } from '@understudy/test/bun'
import OpenAI from 'openai'
import { tellStory } from './story.ts'

test('a story comes in pieces', async ({ understudy: { baseURL, apiKey } }) => {
  const pieces: string[] = []
  const story = await tellStory(new OpenAI({ baseURL, apiKey }), (piece) => pieces.push(piece))
  expect(story.complete).toBe(true)
  expect(pieces.length).toBeGreaterThan(3)
})

const FAULTS: [string, Record<string, unknown>][] = [
  ['is cut', { type: 'cut-stream', after_chunks: 3 }],
  ['tells an error', { type: 'stream-error', after_chunks: 3 }],
]
test.each(FAULTS)('a stream that %s is no whole story', async (_, fault, { understudy }) => {
  await understudy.scenario({ name: 'broken', rules: [{ name: 'breaks off', fault }] })
  const { baseURL, apiKey } = understudy
  const story = await tellStory(new OpenAI({ baseURL, apiKey }))
  expect(story.text).not.toBe('')
  expect(story.complete).toBe(false)
})
