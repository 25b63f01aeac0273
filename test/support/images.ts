// Image calls to an application in this process, read by the strict client's schema.
import { expect } from 'bun:test'
import type { TestApp } from './app.ts'
import { StrictImages } from './strict/images.ts'

export const IMAGES = '/v2/router/images/generations'
export const [A, B, C] = ['openai/dall-e-2', 'openai/dall-e-3', 'openai/gpt-image-1'] as const

/** The answer to an image call that must succeed, with the response it came in. */
export async function draw(app: TestApp, body: object, headers: Record<string, string> = {}) {
  const answer = await app.post(IMAGES, { prompt: 'a red fox', ...body }, headers)
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  expect(answer.headers.get('content-type')).toBe('application/json')
  return { answer, ...StrictImages.parse(answer.json()) }
}

/** The file of one picture given as base64. */
export const bytesOf = (picture: { b64_json?: string | undefined } | undefined): Buffer<ArrayBuffer> =>
  Buffer.from(picture?.b64_json ?? '', 'base64')

/** The files of a call, as base64 where the model leaves a choice. */
export async function files(
  app: TestApp,
  body: { model: string; [field: string]: unknown },
): Promise<Buffer<ArrayBuffer>[]> {
  const { data } = await draw(app, { response_format: 'b64_json', ...body })
  return data.map(bytesOf)
}

/** What a browser gets of an address: no token, no header of ours. */
export const browse = (app: TestApp, url: string | undefined, method = 'GET'): Promise<Response> =>
  app.understudy.app.fetch(new Request(url ?? '', { method }))
