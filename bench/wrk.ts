// Load on a server: one call over and over, on some connections at once, by wrk.
import { headers } from './support.ts'

/** What was done in one run. */
export interface Load {
  calls: number
  /** Calls that were not answered with success, or not at all. */
  failed: number
  microseconds: number
}

/** Ends the benchmark when wrk is not there. */
export function needWrk(): void {
  if (Bun.which('wrk')) return
  console.error('bench: wrk is missing; install it (Debian, Ubuntu: apt install wrk; macOS: brew install wrk)')
  process.exit(1)
}

/** The Lua script that makes wrk send this body and print a `Load`. */
export const scriptOf = (body: string): string => `
wrk.method = 'POST'
wrk.body = [==[${body}]==]
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers['${name}'] = '${value}'`)
  .join('\n')}
function done(summary)
  local e = summary.errors
  io.write(string.format('\\n{"calls":%d,"failed":%d,"microseconds":%d}\\n',
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration))
end
`

/** Calls an address for so many seconds; throws when a call fails. `lua` is the file of a script. */
export async function load(
  url: string,
  { connections, lua, seconds }: { connections: number; lua: string; seconds: number },
): Promise<Load> {
  const options = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '-s', lua]
  const child = Bun.spawn(['wrk', ...options, url], { stdout: 'pipe', stderr: 'inherit' })
  const output = await new Response(child.stdout).text()
  const done: Load = JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')
  if (done.failed > 0) throw new Error(`${done.failed} of ${done.calls} calls failed`)
  return done
}
