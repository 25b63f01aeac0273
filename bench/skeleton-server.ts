// The least that does what Understudy promises of a call, compiled alike: Elysia, a body held to a schema, and one durable row
// a call. Its argument is the file of the constant server.
import { readFileSync } from 'node:fs'
import Driver from 'better-sqlite3'
import { Elysia, t } from 'elysia'
import type { ConstantAnswers } from './constant-server.ts'

const { whole, events }: ConstantAnswers = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const answer = JSON.parse(whole) as object

const database = new Driver('skeleton.db')
database.pragma('journal_mode = WAL')
database.pragma('synchronous = NORMAL')
database.exec('CREATE TABLE calls (seq INTEGER PRIMARY KEY, id TEXT, began INTEGER, request TEXT, answer TEXT)')
const insert = database.prepare('INSERT INTO calls VALUES (?, ?, ?, ?, ?)')

interface Row {
  values: readonly unknown[]
  committed: () => void
}
let pending: Row[] = []
const commit = database.transaction((rows: readonly Row[]) => {
  for (const { values } of rows) insert.run(values)
})

/** Resolves when the row is committed; rows of one turn of the event loop share a transaction. */
const stored = (values: readonly unknown[]) =>
  new Promise<void>((committed) => {
    if (pending.push({ values, committed }) > 1) return
    setImmediate(() => {
      const rows = pending
      pending = []
      commit(rows)
      for (const row of rows) row.committed()
    })
  })

const Message = t.Object({ role: t.String(), content: t.String() })
const Body = t.Object({
  model: t.String(),
  messages: t.Array(Message, { minItems: 1 }),
  max_completion_tokens: t.Optional(t.Integer({ minimum: 1 })),
  stream: t.Optional(t.Boolean()),
})

const wholeHeaders = { 'content-type': 'application/json' }
const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
let calls = 0

const app = new Elysia().post(
  '/v2/router/chat/completions',
  async ({ body }) => {
    const seq = ++calls
    const id = `chatcmpl-${crypto.randomUUID()}`
    const row = (text: string) => stored([seq, id, Date.now(), JSON.stringify(body), text])
    if (!body.stream) {
      const text = JSON.stringify({ ...answer, id })
      await row(text)
      return new Response(text, { headers: wholeHeaders })
    }
    const stream = new ReadableStream({
      type: 'direct',
      async pull(controller: ReadableStreamDirectController) {
        for (const event of events.slice(0, -1)) {
          controller.write(event)
          controller.flush()
        }
        await row(whole)
        controller.write(events.at(-1) ?? '')
        controller.close()
      },
    } as unknown as UnderlyingDefaultSource)
    return new Response(stream, { headers: streamHeaders })
  },
  { body: Body },
)
app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false, idleTimeout: 0 })
console.log(JSON.stringify({ url: `http://127.0.0.1:${app.server?.port}` }))
