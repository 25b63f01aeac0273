// The OpenAPI document of a server with default settings.
import { createTestApp } from './app.ts'

let text: Promise<string> | undefined

/** The document, in a copy of its own: to make it takes hundreds of milliseconds, and each of these servers has the same. */
export async function openApiDocument<Document>(): Promise<Document> {
  text ??= requested()
  return JSON.parse(await text)
}

async function requested(): Promise<string> {
  const app = createTestApp()
  const { text } = await app.fetch('/swagger/json')
  app.close()
  return text
}
