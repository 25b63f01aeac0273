import { again } from '../again.mjs'
import { ticketIn } from './ticket.mjs'

export const ticketOf = ({ openai }, message) => again(() => ticketIn(openai, message))
