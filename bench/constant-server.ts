// What Understudy is measured against: Bun's server, compiled alike, that answers every call with prepared bytes. Its
// argument is a JSON file with the body of a whole answer and the events of a stream.
import { readFileSync } from 'node:fs'

/** What the constant server answers with. */
export interface ConstantAnswers {
  whole: string
  /** Sent one by one, each flushed, as Understudy sends them. */
  events: string[]
}

const { whole, events }: ConstantAnswers = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const wholeHeaders = { 'content-type': 'application/json' }
const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

const stream = () =>
  new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      for (const event of events) {
        controller.write(event)
        await controller.flush()
      }
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: ({ url }) =>
    url.endsWith('?stream')
      ? new Response(stream(), { headers: streamHeaders })
      : new Response(whole, { headers: wholeHeaders }),
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}`, pid: process.pid }))
