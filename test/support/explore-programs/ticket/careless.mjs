// The mistake: a ticket that cannot be read becomes another one.
import { NoObjectGeneratedError } from 'ai'
import { again } from '../again.mjs'
import { ticketIn } from './ticket.mjs'

export const ticketOf = ({ openai }, message) =>
  again(async () => {
    try {
      return await ticketIn(openai, message)
    } catch (error) {
      if (NoObjectGeneratedError.isInstance(error)) return { topic: 'other', urgent: false }
      throw error
    }
  })
