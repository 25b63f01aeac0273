// The mistake: a fallback with a misspelled provider.
import OpenAI from 'openai'
import { again } from '../again.mjs'

async function embed(client, model, input) {
  const vector = (await client.embeddings.create({ model, input }))?.data?.[0]?.embedding
  if (!vector?.length) throw new Error('the response was empty')
  return vector
}

export async function vectorOf({ openai }, text) {
  const client = new OpenAI({ ...openai, timeout: 1_000, maxRetries: 0 })
  try {
    return await embed(client, 'openai/text-embedding-3-small', text)
  } catch (error) {
    if (error.status >= 400 && error.status < 500 && error.status !== 429) throw error
    return await again(() => embed(client, 'opnai/text-embedding-3-small', text))
  }
}
