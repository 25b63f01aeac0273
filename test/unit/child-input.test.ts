// The input of a command that runs more than once.
import { expect, test } from 'bun:test'
import { repeatedInput } from '../../src/cli/run/child-input.ts'

const text = async (input: unknown) => {
  let all = ''
  for await (const chunk of input as ReadableStream<Uint8Array>) all += Buffer.from(chunk).toString()
  return all
}
const piped = (parts: readonly string[]) => {
  const rest = parts.values()
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = rest.next()
      if (done) controller.close()
      else controller.enqueue(Buffer.from(value))
    },
  })
  return repeatedInput({ pipedInput: () => source })
}
const parts = ['one ', 'two ', 'three']

test('repeated input: gives every run all of it', async () => {
  const input = piped(parts)
  expect([await text(input()), await text(input())]).toEqual(['one two three', 'one two three'])
})

test('repeated input: gives later runs what the first one has not read', async () => {
  const input = piped(parts)
  const first = (input() as ReadableStream<Uint8Array>).getReader()
  await first.read()
  await first.cancel()
  expect(await text(input())).toBe('one two three')
})

test('repeated input: gives runs at the same time the same', async () => {
  const input = piped(parts)
  expect(await Promise.all([text(input()), text(input()), text(input())])).toEqual([
    'one two three',
    'one two three',
    'one two three',
  ])
})

test('repeated input: leaves a terminal to the command', () => {
  const input = repeatedInput({ pipedInput: () => undefined })
  expect([input(), input()]).toEqual(['inherit', 'inherit'])
})
