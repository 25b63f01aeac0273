// Real clients against the application in this process: their requests are answered without a socket.
import OpenAI from 'openai'
import type { TestApp } from './app.ts'

/** Where clients believe the router is. */
export const BASE_URL = 'http://localhost/v2/router'

/** A `fetch` that leads into the application. */
export const fetchInto = (app: TestApp): typeof fetch =>
  Object.assign(
    async (input: string | URL | Request, init?: RequestInit) => app.understudy.app.fetch(new Request(input, init)),
    {
      preconnect: () => {},
    },
  )

/** The openai package. */
export const openaiOf = (app: TestApp): OpenAI =>
  new OpenAI({ baseURL: BASE_URL, apiKey: 'any', maxRetries: 0, fetch: fetchInto(app) })
