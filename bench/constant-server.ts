// What Understudy is measured against: Bun's server, compiled alike, that answers every call with prepared bytes. Its
// argument is a JSON file with the body of a whole answer and the events of a stream. The path says which is wanted, so that
// it can stand for a provider as well.
import { readFileSync } from 'node:fs'

/** What the constant server answers with. */
export interface ConstantAnswers {
  whole: string
  /** Sent one by one, each flushed, as Understudy sends them. */
  events: string[]
}

/** Between two events of a slow stream. */
const SLOW_MS = 5

const { whole, events }: ConstantAnswers = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const wholeHeaders = { 'content-type': 'application/json' }
const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

const stream = (slow: boolean) =>
  new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      for (const event of events) {
        if (slow) await Bun.sleep(SLOW_MS)
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
  fetch({ url }) {
    if (url.includes('/whole')) return new Response(whole, { headers: wholeHeaders })
    return new Response(stream(url.includes('/slow')), { headers: streamHeaders })
  },
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))
