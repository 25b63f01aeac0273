// The mistake: no timeout.
import { again, lasting } from '../again.mjs'
import { newsIn } from './stream.mjs'

export const newsOf = ({ anthropic }, day) =>
  again(async () => {
    const { text, reason } = await newsIn(anthropic, day, undefined, () => {})
    if (reason === 'refusal') throw lasting('the news was refused')
    return text
  })
