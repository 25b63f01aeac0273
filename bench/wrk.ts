// Load on a server: one call over and over, on some connections at once, by wrk.

import { join } from 'node:path'
import { headers } from './headers.ts'
import { BenchError } from './options.ts'
import { scratch } from './support.ts'

/** What was done in one run; times in microseconds. */
export interface Load {
  calls: number
  /** Calls that were not answered with success, or not at all. */
  failed: number
  took: number
  p50: number
  p99: number
  /** Processor time of the load generator itself. */
  cpu: number
}

/** What is called; `calls` are how many at most. */
export interface Target {
  url: string
  body: string
  connections: number
  seconds: number
  calls?: number
  /** Over how many sessions the calls are spread; all are of one without it. */
  sessions?: number
  /** About how many calls a second; as many as are answered without it. */
  rate?: number | undefined
}

/** Throws when wrk is not there. */
export function needWrk(): void {
  if (Bun.which('wrk')) return
  throw new BenchError('wrk is missing; install it (Debian, Ubuntu: apt install wrk; macOS: brew install wrk)')
}

// wrk sleeps for its whole duration unless it is interrupted, which it is deaf to while it waits for a command; $PPID is wrk.
const stopAfter = (calls: number) => `
local left = ${calls}
function response()
  left = left - 1
  if left == 0 then
    wrk.thread:stop()
    os.execute('(sleep 0.1; kill -INT $PPID) &')
  end
end`

const spreadOver = (sessions: number) => `
local turn = 0
function request()
  turn = (turn + 1) % ${sessions}
  wrk.headers['x-understudy-session'] = 's' .. turn
  return wrk.format()
end`

// Each connection waits between two calls, each time for another while, so that they do not call all at once. wrk knows whole
// milliseconds, and does not count them as time of the answer.
const paced = (rate: number, connections: number) => `
function delay()
  return math.random(0, ${Math.round((2_000 * connections) / rate)})
end`

const scriptOf = ({ body, calls, sessions, rate, connections }: Target): string => `
wrk.method = 'POST'
wrk.body = [==[${body}]==]
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers['${name}'] = '${value}'`)
  .join('\n')}
${calls === undefined ? '' : stopAfter(calls)}
${sessions === undefined ? '' : spreadOver(sessions)}
${rate === undefined ? '' : paced(rate, connections)}
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"calls":%d,"failed":%d,"took":%d,"p50":%d,"p99":%d}\\n',
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration,
    latency:percentile(50), latency:percentile(99)))
end
`

/** Calls an address; throws when a call fails. */
export async function load(target: Target): Promise<Load> {
  const { folder, remove } = scratch()
  const lua = join(folder, 'call.lua')
  await Bun.write(lua, scriptOf(target))
  const options = `-t 1 -c ${target.connections} -d ${target.seconds}s --timeout 30s -s`.split(' ')
  const child = Bun.spawn(['wrk', ...options, lua, target.url], { stdout: 'pipe', stderr: 'inherit' })
  const output = await new Response(child.stdout).text()
  await child.exited
  remove()
  const last = output.trimEnd().split('\n').at(-1) ?? ''
  if (!last.startsWith('{')) throw new BenchError(`wrk did not work: ${output.trim() || 'no output'}`)
  const done = JSON.parse(last) as Omit<Load, 'cpu'>
  if (done.failed > 0) throw new BenchError(`${done.failed} of ${done.calls} calls of ${target.url} failed`)
  return { ...done, cpu: Number(child.resourceUsage()?.cpuTime.total ?? 0) }
}
