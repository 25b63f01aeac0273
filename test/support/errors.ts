// The one shape of every error.
import { expect } from 'bun:test'

/** Holds a body to the one shape of errors, and gives what is inside. */
export function errorOf(text: string, status: number) {
  const value = JSON.parse(text)
  const message = expect.any(String)
  const param = value.error?.param === null ? null : expect.any(String)
  expect(value).toEqual({
    code: String(status),
    message,
    error: { message: value.message, type: expect.any(String), param, code: expect.any(String) },
  })
  return value.error as { message: string; type: string; param: string | null; code: string }
}
