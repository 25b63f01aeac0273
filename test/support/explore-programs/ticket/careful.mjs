import { again } from '../again.mjs'
import { ticketIn } from './ticket.mjs'

export const ticketOf = (message) => again(() => ticketIn(message))
