// One provider on loopback that sends what a test gives it, and an application that forwards all calls to it.
import { readForwarding } from '../../src/config/providers.ts'
import { createTestApp } from './app.ts'
import { at, startProvider } from './forward.ts'

/** The model that is answered by the provider of these tests. */
export const ODD_MODEL = 'odd/model'

/** What a provider sends. */
interface Odd {
  text: string
  type: string
  headers?: Record<string, string>
}

/** An application over a provider that answers with `send`'s last text; close it when the tests are over. */
export function oddProvider(kind = 'openai-compatible') {
  const next: Odd = { text: '', type: '' }
  const provider = startProvider(
    () => new Response(next.text, { headers: { ...(next.type && { 'content-type': next.type }), ...next.headers } }),
  )
  const section = { value: { odd: at(provider.url, { kind }) }, locationOf: () => '' }
  const reported: unknown[] = []
  const app = createTestApp(
    { clock: 'real', forwarding: readForwarding({ section, backend: 'fixture', environment: {} }) },
    (error) => reported.push(error),
  )
  const answering = (odd: Odd) => Object.assign(next, { headers: {}, ...odd })
  const post = (path: string, body: object) =>
    body instanceof FormData ? app.fetch(path, { method: 'POST', body }) : app.post(path, { model: ODD_MODEL, ...body })
  return {
    app,
    /** Errors that were taken for bugs of ours. */
    reported,
    /** The answer to a call whose provider sends this text as JSON. */
    whole(path: string, body: object, text: string) {
      answering({ text, type: 'application/json' })
      return post(path, body)
    },
    /** The answer to a streamed call whose provider sends these texts, each as the data of an event. */
    stream(path: string, body: object, data: readonly string[]) {
      answering({ text: data.map((text) => `data: ${text}\n\n`).join(''), type: 'text/event-stream' })
      return post(path, { ...body, stream: true })
    },
    /** The answer to a call whose provider sends just this. */
    typed(path: string, body: object, odd: Odd) {
      answering(odd)
      return post(path, body)
    },
    async close() {
      provider.stop()
      await app.close()
    },
  }
}

/** The data of the events of a stream, as it was on the wire. */
export const dataIn = (text: string): string[] => [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data)
