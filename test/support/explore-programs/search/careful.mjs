import OpenAI from 'openai'
import { again } from '../again.mjs'

const embed = (client, model, input) =>
  again(async () => {
    const vector = (await client.embeddings.create({ model, input }))?.data?.[0]?.embedding
    if (!vector?.length) throw new Error('the response was empty')
    return vector
  })

export const vectorOf = ({ openai }, text) =>
  embed(new OpenAI({ ...openai, timeout: 1_000, maxRetries: 0 }), 'openai/text-embedding-3-small', text)
