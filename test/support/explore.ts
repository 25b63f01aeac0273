// Explorations of small programs: by the executable, as one line of JSON.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXECUTABLE, environment } from './server.ts'

/** A cell as `--json` says it. */
export interface ExploredCell {
  point: string
  class: string
  verdict: string
  why: string
  traces: string[]
  scenario: string | null
  derived: boolean
}

/** What `--json` says last. */
export interface ExploreJson {
  points: {
    id: string
    operation: string
    stream: boolean
    model: string | null
    session: string
    turn: number
    nth: number
    unstable: boolean
    discovered: boolean
  }[]
  cells: ExploredCell[]
  coverage: Record<'delivered' | 'held' | 'ways', { of: number; all: number }>
  left: { point: string; class: string }[]
  routes: {
    route: string
    outcomes: { fault: string; target: string; outcome: string; status: number; attempts: number }[]
  }[]
  runs: number
  saved: number
}

/** What every program begins with: `post(body)` and `ask(body)`, which gives the message and throws what is no answer. */
const BEGINNING = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env
const wait = (ms) => new Promise((done) => setTimeout(done, ms))
const post = (body, more = {}) => fetch(base + '/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json', ...more.headers },
  body: JSON.stringify({ model: 'openai/gpt-4o', ...body }),
  signal: AbortSignal.timeout(20_000),
})
const ask = async (body, more) => {
  const response = await post(body, more)
  const after = Number(response.headers.get('retry-after') ?? 0) * 1000
  if (!response.ok) throw Object.assign(new Error('status ' + response.status), { status: response.status, after })
  return (await response.json()).choices[0].message
}
const user = (content) => ({ role: 'user', content })
`

/** Writes a program into a folder; gives the command that runs it. */
export function programIn(folder: string, name: string, code: string): string[] {
  writeFileSync(join(folder, `${name}.mjs`), `${BEGINNING}${code}`)
  return [process.execPath, `${name}.mjs`]
}

/** Explores a command in a folder; the state is kept in a folder of its own there. */
export async function exploreIn(
  cwd: string,
  flags: readonly string[],
  command: readonly string[],
  env: Record<string, string> = {},
) {
  const child = Bun.spawn([EXECUTABLE, 'explore', '--json', ...flags, '--', ...command], {
    cwd,
    env: environment(env),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (stdout === '') throw new Error(`nothing was explored (${code}): ${stderr}`)
  return { code, stderr, report: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as ExploreJson }
}
