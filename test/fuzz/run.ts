// npm run fuzz: hostile requests against a server of its own, made up from its OpenAPI document and a seed. Ends with 1 when
// anything went wrong; each find is printed, as small as it could be made, as a row for test/fuzz-finds.test.ts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { surfaceOf } from './document.ts'
import { type Find, hunt } from './hunt.ts'
import { replay } from './program.ts'
import { beRude } from './rude.ts'
import { shrink } from './shrink.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '8' },
  },
})
const [requests, seed, workers] = [Number(values.requests), Number(values.seed), Number(values.workers)]
const LATE_MS = 30_000

const serve = ['serve', '--port', '0', '--json', '--db', ':memory:', '--clock', 'virtual', '--client-timeout', '5s']
const main = join(import.meta.dir, '..', '..', 'src', 'main.ts')
// It ends with us, however that happens.
const env = { ...process.env, UNDERSTUDY_PARENT: String(process.pid) }
const server = Bun.spawn([process.execPath, main, ...serve], { env, stdout: 'pipe', stderr: 'pipe' })
const printed = new Response(server.stderr).text()
const reader = server.stdout.getReader()
const { value } = await reader.read()
const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string }

/** Megabytes of memory that the server has. */
function memory(): number {
  try {
    const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kilobytes) / 1_000)
  } catch {
    return 0
  }
}

const print = (line: string) => process.stdout.write(`${line}\n`)

let longest = 0
/** A call of somebody who behaves, while all others do not. */
async function politeCall(): Promise<void> {
  const began = performance.now()
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })
  const headers = { authorization: 'Bearer session:polite', 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v2/router/chat/completions`, { method: 'POST', headers, body })
  await answer.text()
  longest = Math.max(longest, performance.now() - began)
  if (answer.status !== 200) finds.push({ wrong: `a well-behaved call was answered ${answer.status}`, requests: [] })
}

const finds: Find[] = []
const began = performance.now()
const atStart = memory()
const rude = beRude(Number(new URL(url).port), seed)
const counts = await hunt({
  seed,
  requests,
  workers,
  surface: surfaceOf(await (await fetch(`${url}/swagger/json`)).text()),
  to: { target: (request) => fetch(request), base: url, late: () => Bun.sleep(LATE_MS) },
  found(find) {
    finds.push(find)
    print(`found: ${find.wrong} (${find.requests.at(-1)?.method} ${find.requests.at(-1)?.path.slice(0, 80)})`)
  },
  async progress(sent) {
    await politeCall()
    const rate = Math.round(sent / ((performance.now() - began) / 1_000))
    print(`${sent} requests, ${rate} a second, ${memory()} MB, ${finds.length} finds`)
  },
})
const seconds = Math.round((performance.now() - began) / 1_000)
const clients = rude.stop()
await politeCall()
for (const path of ['/_understudy/snapshot', '/_understudy/health']) {
  const { status } = await fetch(`${url}${path}`, { headers: { authorization: 'Bearer any' } })
  if (status !== 200) finds.push({ wrong: `${path} is ${status} in the end`, requests: [] })
}
const memoryAtEnd = memory()
const alive = server.exitCode === null
server.kill()
// The server names addresses that are nowhere, once each, which is what it should do.
const said = (await printed).replace(/^understudy: .*(?:there is no path|is not emulated).*\n/gm, '')

print(
  `${counts.sent} requests in ${seconds} s (seed ${seed}), beside ${clients} rude clients: ${JSON.stringify(counts.statuses)}`,
)
print(`memory ${atStart} MB, then ${memoryAtEnd} MB; the longest well-behaved call took ${Math.round(longest)} ms`)
if (!alive) print(`the server ended by itself with ${server.exitCode}`)
if (said !== '') print(`the server printed:\n${said.slice(0, 5_000)}`)
for (const { wrong, requests: history } of finds) {
  const smallest = history.length > 0 ? await shrink(history, wrong, replay) : undefined
  print(
    smallest
      ? `  [${JSON.stringify(wrong)}, ${JSON.stringify(smallest)}],`
      : `not seen again in a new program: ${wrong}`,
  )
  if (!smallest) print(`  the last request: ${JSON.stringify(history.at(-1))?.slice(0, 2_000)}`)
}
process.exit(finds.length > 0 || said !== '' || !alive ? 1 : 0)
