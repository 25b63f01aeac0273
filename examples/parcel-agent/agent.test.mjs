import assert from 'node:assert/strict'
import { test } from 'node:test'

const { answerOf } = await import(process.env.PROGRAM ?? './careful.mjs')

test('whoever asks has an answer, and at most one courier comes', async () => {
  const booked = []
  const answer = await answerOf('Please fetch my parcel.', async (street) => booked.push(street))
  assert.ok(answer.length > 0)
  assert.ok(booked.length <= 1, `${booked.length} couriers come`)
  assert.ok(booked.every((street) => typeof street === 'string'))
})
