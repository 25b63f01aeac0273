// npm run bench loop [ROUNDS] [EXECUTABLE] [NAME]: how long other calls wait while the server is at heavy work. A second program
// sends the heavy call; this one sends small ones, each as soon as the last is answered, and keeps the longest wait.

import { join } from 'node:path'
import { headers } from './headers.ts'
import { bodyOf, ROUTER } from './servers.ts'
import { median, post, scratch, serveArgs, start, understudy } from './support.ts'

const [rounds = '3', executable = understudy, only = ''] = process.argv.slice(2)
/** Small calls that are answered before the heavy one begins, so that nothing is loaded or compiled for the first time. */
const WARM_UP = 200
const MEGABYTES = 10

/** A heavy call; `sends` are how many of it are sent at once. */
interface Heavy {
  name: string
  path: string
  body: unknown
  sends?: number
}

/** Different words without end, so that no table of known words helps. */
function* words(): Generator<string> {
  let state = 1
  for (;;) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223
    yield (state >>> 0).toString(36).replace(/\d/g, 'e')
  }
}

function textOf(bytes: number): string {
  const parts: string[] = []
  let length = 0
  for (const word of words()) {
    parts.push(word)
    length += word.length + 1
    if (length >= bytes) return parts.join(' ')
  }
  return ''
}

const chat = (content: string, more: object = {}): Pick<Heavy, 'path' | 'body'> => ({
  path: '/chat/completions',
  body: { model: 'openai/gpt-4.1', messages: [{ role: 'user', content }], ...more },
})
const long = textOf(MEGABYTES * 1e6)
const short = textOf(200)
const schema = (pattern: string) => ({
  type: 'json_schema',
  json_schema: {
    name: 'heavy',
    schema: { type: 'object', properties: { a: { type: 'string', pattern } }, required: ['a'] },
  },
})
const spoken = (format: string) =>
  chat(short, { modalities: ['text', 'audio'], audio: { voice: 'alloy', format }, verbosity: 'high' })
const lines = Array.from({ length: 50_000 }, (_, index) => ({
  role: index % 2 ? 'assistant' : 'user',
  content: long.slice(index * 200, index * 200 + 200),
}))

const heavy: Heavy[] = [
  { name: `a prompt of ${MEGABYTES} MB`, ...chat(long) },
  { name: `a prompt of ${MEGABYTES} MB, cached`, ...chat(long, { cache: { type: 'exact_match', ttl: 60 } }) },
  { name: `a prompt of ${MEGABYTES} MB with variables`, ...chat(long, { variables: { a: 'b' } }) },
  { name: `${MEGABYTES} MB without a space`, ...chat(long.replaceAll(' ', '')) },
  {
    name: `${MEGABYTES} MB in 50,000 messages`,
    path: '/chat/completions',
    body: { model: 'openai/gpt-4.1', messages: lines },
  },
  {
    name: `${MEGABYTES} MB in 2,000 embeddings`,
    path: '/embeddings',
    body: {
      model: 'openai/text-embedding-3-small',
      input: Array.from({ length: 2_000 }, (_, index) => long.slice(index * 5_000, index * 5_000 + 5_000)),
    },
  },
  {
    name: 'ten large pictures (png)',
    path: '/images/generations',
    body: { model: 'openai/gpt-image-1', prompt: 'A lighthouse', n: 10, size: '1536x1024' },
  },
  {
    name: 'ten large pictures (webp, cut out)',
    path: '/images/generations',
    body: {
      model: 'openai/gpt-image-1',
      prompt: 'A lighthouse',
      n: 10,
      size: '1536x1024',
      background: 'transparent',
      output_format: 'webp',
    },
  },
  { name: 'speech as flac', ...spoken('flac') },
  { name: 'speech as opus', ...spoken('opus') },
  { name: 'speech as mp3', ...spoken('mp3') },
  {
    name: 'a heavy pattern',
    ...chat('heavy', {
      response_format: schema('^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[!@#$%])(?!.*(.)\\1)(?=.{20,200}$)[\\w!@#$%]+$'),
    }),
  },
]

/** The second program: sends the body of a file, and prints the status. */
if (process.argv[2] === 'send') {
  const [url = '', file = ''] = process.argv.slice(3)
  const response = await fetch(url, { method: 'POST', headers, body: Bun.file(file) })
  console.log(response.status, response.ok ? '' : await response.text())
  process.exit(0)
}

const callOnce = (url: string) => post(`${url}${ROUTER}`, bodyOf({ form: 'whole' }))

/** The longest wait of a small call, in ms, while the heavy ones are answered; their status. */
async function longest(
  url: string,
  file: string,
  { path, sends = 1 }: Heavy,
): Promise<{ wait: number; took: number; status: string }> {
  for (let calls = 0; calls < WARM_UP; calls++) await callOnce(url)
  const began = performance.now()
  const children = Array.from({ length: sends }, () =>
    Bun.spawn([process.execPath, import.meta.path, 'send', `${url}/v2/router${path}`, file], { stdout: 'pipe' }),
  )
  let ended = false
  const ends = Promise.all(children.map(({ exited }) => exited)).then(() => {
    ended = true
  })
  let wait = 0
  while (!ended) {
    const sent = performance.now()
    await callOnce(url)
    wait = Math.max(wait, performance.now() - sent)
  }
  await ends
  const status = await new Response(children[0]?.stdout).text()
  return { wait, took: performance.now() - began, status: status.trim().slice(0, 60) }
}

const { folder } = scratch()
const rows: object[] = []
for (const [index, one] of heavy.entries()) {
  if (!one.name.includes(only)) continue
  const file = join(folder, `${index}.json`)
  await Bun.write(file, JSON.stringify(one.body))
  const server = await start({ args: serveArgs(executable) })
  try {
    const results = []
    for (let round = 0; round < Number(rounds); round++) results.push(await longest(server.url, file, one))
    const waits = results.map(({ wait }) => wait)
    const row = {
      'heavy call': one.name,
      status: results[0]?.status,
      'first wait ms': Math.round(waits[0] ?? 0),
      'longest wait ms (median)': Math.round(median(waits)),
      'took ms': Math.round(median(results.map(({ took }) => took))),
    }
    console.error(JSON.stringify(row))
    rows.push(row)
  } finally {
    await server.stop()
  }
}
console.table(rows)
