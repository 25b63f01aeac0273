// npm run fuzz: hostile requests against servers of its own, made up from their OpenAPI document and a seed; one of the servers
// forwards to a provider that breaks every rule. Ends with 1 when anything went wrong; each find is printed, as small as it could be
// made, as a row for test/unit/fuzz-regressions.test.ts.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { surfaceOf } from './document.ts'
import { type Counts, type Find, hunt } from './hunt.ts'
import { replay, replayForwarded, replayStall } from './program.ts'
import { MAX_RESPONSE, makeForwardedRequest, providersAt, startHostileProvider } from './provider.ts'
import { POLITE_SESSION } from './requests.ts'
import { beRude } from './rude.ts'
import { kindOf, type Replay, shrink } from './shrink.ts'
import { requestLog, watch } from './watch.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '8' },
    /** How many of the requests are forwarded. */
    forwarded: { type: 'string' },
    stall: { type: 'string', default: '250' },
    memory: { type: 'string', default: '700' },
  },
})
const [requests, seed, workers] = [Number(values.requests), Number(values.seed), Number(values.workers)]
const forwarded = values.forwarded === undefined ? Math.ceil(requests / 20) : Number(values.forwarded)
const limits = { stallMs: Number(values.stall), memoryMb: Number(values.memory) }
const LATE_MS = 30_000
const began = performance.now()
const print = (line: string) => process.stdout.write(`${line}\n`)

const main = join(import.meta.dir, '..', '..', 'src', 'main.ts')
const folder = mkdtempSync(join(tmpdir(), 'understudy-fuzz-'))
// They end with us, however that happens.
const env = { ...process.env, UNDERSTUDY_PARENT: String(process.pid) }

/** Starts a server in a folder with these settings. */
async function start(name: string, settings: object, ...flags: string[]) {
  const cwd = mkdtempSync(join(folder, `${name}-`))
  writeFileSync(join(cwd, 'understudy.yaml'), JSON.stringify(settings))
  const args = ['serve', '--port', '0', '--json', '--db', ':memory:', '--client-timeout', '5s', ...flags]
  const server = Bun.spawn([process.execPath, main, ...args], { cwd, env, stdout: 'pipe', stderr: 'pipe' })
  const printed = new Response(server.stderr).text()
  const { value } = await server.stdout.getReader().read()
  const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string }
  const surface = surfaceOf(await (await fetch(`${url}/swagger/json`)).text())
  const log = requestLog()
  return { name, server, pid: server.pid, printed, url, surface, log }
}
type Started = Awaited<ReturnType<typeof start>>

const provider = await startHostileProvider()
const plain = await start('plain', {}, '--clock', 'virtual')
const forwarding = await start(
  'forwarding',
  { providers: providersAt(provider.url) },
  ...['--max-response', `${MAX_RESPONSE}`],
)
const servers = [plain, forwarding]

/** A find, and how it is seen again in a new program; without it there is nothing that could show it. */
interface Seen extends Find {
  again?: Replay
  /** Other histories that may have done it. */
  others?: readonly Find['requests'][]
}
const finds: Seen[] = []
const describe = (find: Find) =>
  `${find.wrong} (${find.requests.at(-1)?.method} ${find.requests.at(-1)?.path.slice(0, 80)})`
function found(find: Seen): void {
  finds.push(find)
  print(`found: ${describe(find)}`)
}

let longest = 0
/** A call of somebody who behaves, while all others do not. */
async function politeCall({ url }: Started): Promise<void> {
  const asked = performance.now()
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })
  const headers = { authorization: `Bearer session:${POLITE_SESSION}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v2/router/chat/completions`, { method: 'POST', headers, body })
  const text = await answer.text()
  longest = Math.max(longest, performance.now() - asked)
  if (answer.status !== 200)
    found({ wrong: `a well-behaved call was answered ${answer.status}: ${text.slice(0, 160)}`, requests: [] })
}

const excesses = new Map<string, number>()
const watcher = watch(servers, limits, ({ server, wrong, began: from, ended: to }) => {
  const { name, log } = servers[server] as Started
  const underWay = log.during(from, to)
  const [requests = [], ...others] = underWay
  const last = requests.at(-1)
  // The first of each kind is made small; the rest are counted.
  const kind = `${name} ${kindOf(wrong)} ${last?.method} ${last?.path.split(/[/?]/, 5).join('/')}`
  excesses.set(kind, (excesses.get(kind) ?? 0) + 1)
  if (excesses.get(kind) !== 1) return
  const isStall = wrong.includes('answered nobody')
  found({
    wrong,
    requests,
    others,
    ...(isStall && { again: replayStall(limits.stallMs, name === 'forwarding') }),
  })
  for (const one of underWay) print(`  under way: ${JSON.stringify(one.at(-1))?.slice(0, 300)}`)
})
const rude = beRude(Number(new URL(plain.url).port), seed)

/** Hunts through one of the servers. */
const through = (
  { url, surface, log }: Started,
  settings: Pick<Parameters<typeof hunt>[0], 'seed' | 'requests' | 'workers' | 'make' | 'progress'> & { again: Replay },
): Promise<Counts> => {
  const { again, ...more } = settings
  const isForwarded = again === replayForwarded
  const to = { target: (request: Request) => fetch(request, { redirect: 'manual' }), base: url, forwarded: isForwarded }
  return hunt({
    ...more,
    surface,
    to: { ...to, late: () => Bun.sleep(LATE_MS) },
    sent: log.begin,
    found: (find) => found({ ...find, again }),
  })
}
const [counts, forwardedCounts] = await Promise.all([
  through(plain, {
    ...{ seed, requests: requests - forwarded, workers, again: replay },
    async progress(sent) {
      await politeCall(plain)
      const rate = Math.round(sent / ((performance.now() - began) / 1_000))
      print(`${sent} requests, ${rate} a second, ${finds.length} finds`)
    },
  }),
  through(forwarding, {
    ...{ seed: seed + 500, requests: forwarded, workers: 4, again: replayForwarded, make: makeForwardedRequest },
    progress: () => politeCall(forwarding),
  }),
])
const seconds = Math.round((performance.now() - began) / 1_000)
const clients = rude.stop()
let complained = false
for (const started of servers) {
  await politeCall(started)
  for (const path of ['/_understudy/snapshot', '/_understudy/health']) {
    const { status } = await fetch(`${started.url}${path}`, { headers: { authorization: 'Bearer any' } })
    if (status !== 200) found({ wrong: `${path} is ${status} in the end`, requests: [] })
  }
}
const measured = await watcher.stop()
for (const { name, server, printed } of servers) {
  const alive = server.exitCode === null
  server.kill()
  // The server names addresses that are nowhere, once each, and those that it forwards to, which is what it should do.
  const said = (await printed).replace(
    /^understudy: .*(?:there is no path|is not emulated|calls to wild\w* with the key).*\n/gm,
    '',
  )
  if (!alive) print(`the ${name} server ended by itself with ${server.exitCode}`)
  if (said !== '') print(`the ${name} server printed:\n${said.slice(0, 5_000)}`)
  complained ||= !alive || said !== ''
}

print(
  `${counts.sent} requests in ${seconds} s (seed ${seed}), beside ${clients} rude clients: ${JSON.stringify(counts.statuses)}`,
)
print(`${forwardedCounts.sent} of them forwarded: ${JSON.stringify(forwardedCounts.statuses)}`)
print(
  `worst stall ${Math.round(measured.worstStallMs)} ms of ${measured.asked} looks, peak memory ${Math.round(measured.peakMemoryMb)} MB; the longest well-behaved call took ${Math.round(longest)} ms`,
)
for (const [kind, count] of excesses) print(`${count} x ${kind}`)
for (const { wrong, requests: history, again, others = [] } of finds) {
  let smallest: Find['requests'] | undefined
  for (const one of again ? [history, ...others] : [])
    if (one.length > 0) smallest ??= await shrink(one, wrong, again as Replay)
  print(
    smallest
      ? `  [${JSON.stringify(wrong)}, ${JSON.stringify(smallest)}],`
      : `not seen again in a new program: ${wrong}`,
  )
  if (!smallest) print(`  the last request: ${JSON.stringify(history.at(-1))?.slice(0, 2_000)}`)
}
provider.stop()
rmSync(folder, { recursive: true, force: true })
process.exit(finds.length > 0 || complained ? 1 : 0)
