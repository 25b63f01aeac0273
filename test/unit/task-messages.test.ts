// The messages of a task as the model's chat call has them.
import { expect, test } from 'bun:test'
import { chatMessagesOf } from '../../src/agents/store/messages.ts'

type History = Parameters<typeof chatMessagesOf>[0]
const userMessage = (...parts: object[]) =>
  chatMessagesOf([{ message: { role: 'user', parts } }] as unknown as History)[0]?.content as unknown

test('message of a user: is its text if there is nothing else', () => {
  expect(userMessage({ kind: 'text', text: 'Hello' })).toBe('Hello')
})

test('message of a user: has a part for each text, error, value and file', () => {
  const file = (more: object) => ({ kind: 'file', file: more })
  expect(
    userMessage(
      { kind: 'text', text: 'See' },
      { kind: 'error', error: 'too late' },
      { kind: 'data', data: { a: 1 } },
      file({ bytes: 'AA==', mimeType: 'image/png' }),
      file({ uri: 'https://x.test/a.png', mimeType: 'image/png' }),
      file({ bytes: 'AA==', mimeType: 'application/pdf', name: 'a.pdf' }),
      file({ bytes: 'AA==' }),
      file({ uri: 'https://x.test/a.pdf' }),
    ),
  ).toEqual([
    { type: 'text', text: 'See' },
    { type: 'text', text: 'Error: too late' },
    { type: 'text', text: '{"a":1}' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
    { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } },
    { type: 'file', file: { file_data: 'data:application/octet-stream;base64,AA==' } },
    { type: 'file', file: { uri: 'https://x.test/a.pdf' } },
  ])
})
