import { expect, test } from 'vitest'

const { ticketOf } = await import(process.env.PROGRAM ?? './careful.mjs')

test('a message becomes a ticket', { timeout: 30_000 }, async () => {
  const ticket = await ticketOf('My parcel has not come.')
  expect(['delivery', 'invoice', 'other']).toContain(ticket.topic)
  expect(typeof ticket.urgent).toBe('boolean')
})
