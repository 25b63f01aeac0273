import { expect, test } from 'vitest'

const { ticketOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('a message becomes a ticket', { timeout: 30_000 }, async () => {
  expect(['delivery', 'invoice', 'other']).toContain((await ticketOf('My parcel is broken.')).topic)
})
