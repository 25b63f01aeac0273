// A strict client of the workspace: each call says which answer it wants, and throws when it gets another status or shape.
import type { z } from 'zod'
import type { TestApp } from './app.ts'
import { type Neighbour, neighbours } from './strict/neighbours.ts'

/** Statuses of what is answered otherwise than with 200. */
interface CallOptions {
  body?: unknown
  status?: 200 | 201
}
export type StrictClient = ReturnType<typeof strictClient>

/** The client of one session or token. */
export function strictClient(app: Pick<TestApp, 'fetch'>, headers: Record<string, string> = {}) {
  const send = (method: string, path: string, body: unknown) => {
    const form = body instanceof FormData
    const type = body !== undefined && !form && { 'content-type': 'application/json' }
    return app.fetch(path, {
      method,
      headers: { accept: 'application/json', cookie: '', ...headers, ...type },
      ...(body !== undefined && { body: form ? body : JSON.stringify(body) }),
    })
  }
  return {
    send,
    /** The answer, parsed; throws when a strict client would. */
    async call<Name extends Neighbour>(
      name: Name,
      [method, path]: readonly [method: string, path: string],
      { body, status = 200 }: CallOptions = {},
    ): Promise<z.infer<(typeof neighbours)[Name]>> {
      const answer = await send(method, path, body)
      const type = answer.headers.get('content-type') ?? ''
      if (answer.status !== status || !type.startsWith('application/json'))
        throw new Error(`${method} ${path}: ${answer.status} ${type} ${answer.text}`)
      return neighbours[name].parse(answer.json()) as z.infer<(typeof neighbours)[Name]>
    },
    /** Deletes with 204 and nothing else. */
    async remove(path: string, body?: unknown): Promise<void> {
      const answer = await send('DELETE', path, body)
      if (answer.status !== 204 || answer.text !== '')
        throw new Error(`DELETE ${path}: ${answer.status} ${answer.text}`)
    },
  }
}
