import { again, lasting, patience } from '../again.mjs'
import { newsIn } from './stream.mjs'

export const newsOf = ({ anthropic }, day) =>
  again(async () => {
    const { signal, heard, end } = patience(1_000)
    try {
      const { text, reason } = await newsIn(anthropic, day, signal, heard)
      if (reason === 'refusal') throw lasting('the news was refused')
      return text
    } finally {
      end()
    }
  })
