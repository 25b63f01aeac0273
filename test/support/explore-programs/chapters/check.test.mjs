import { expect, test } from 'bun:test'

const { summariesOf } = await import(`./${process.env.PROGRAM}.mjs`)

test('every chapter has a summary', async () => {
  expect(await summariesOf(['Storks', 'Cranes', 'Herons', 'Ibises', 'Egrets'])).toHaveLength(5)
}, 120_000)
