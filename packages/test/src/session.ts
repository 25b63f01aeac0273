// The fixture `understudy`: a session of its own on the server, with what a test does to it.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { rejectUnknown, UnderstudyError } from './executable.ts'
import { ask } from './request.ts'
import type { UnderstudyServer } from './server.ts'
import type { ClockState, SessionClock, Trace, Understudy, Verification } from './types.ts'

/** The fixture of a session that is there. */
export function understudyOf(server: UnderstudyServer, session: string): Understudy {
  const url = `${server.url}/s/${encodeURIComponent(session)}`
  const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) =>
    ask(server, { method, path: `/_understudy/${path}`, session, body })
  return {
    url,
    baseURL: `${url}/v1`,
    routerURL: `${url}/v2/router`,
    apiKey: server.token === undefined ? `session:${session}` : `${server.token}#${session}`,
    session,
    clock: clockOf(server, session),
    async scenario(scenario) {
      const { warnings } = (await call(
        'PUT',
        'scenario',
        typeof scenario === 'string' ? { name: scenario } : scenario,
      )) as { warnings: string[] }
      if (warnings.length > 0) throw new UnderstudyError(warnings.join('\n'))
    },
    async fixtures(...fixtures) {
      await call('PUT', 'fixtures', fixtures.flat())
    },
    traces: () => tracesOf(server, session),
    async verify({ expect, wait = '0s', ended, strict = false, allowInconclusive = false, ...unknown } = {}) {
      rejectUnknown('verify()', unknown, ['expect', 'wait', 'ended', 'strict', 'allowInconclusive'])
      const query = new URLSearchParams({ wait, ...(ended !== undefined && { ended }) })
      const answer = expect ? await call('POST', `verify?${query}`, { expect }) : await call('GET', `verify?${query}`)
      return checked(answer as Verification, { strict, allowInconclusive })
    },
    async seed(seed) {
      if (typeof seed === 'string') await run(server, ['seed', seed, ...serverFlags(server, session)])
      else await call('POST', 'seed', { yaml: JSON.stringify(seed), documents: documentsOf(seed) })
    },
  }
}

function clockOf(server: UnderstudyServer, session: string): SessionClock {
  const path = `/_understudy/sessions/${encodeURIComponent(session)}`
  const move = async (body: unknown) =>
    (await ask(server, { method: 'POST', path: `${path}/clock`, body })) as ClockState
  return {
    async now() {
      const { clock } = (await ask(server, { method: 'GET', path })) as { clock: ClockState }
      return new Date(clock.now)
    },
    advance: (time) => move({ advance: time }),
    freeze: () => move({ freeze: true }),
    resume: () => move({ resume: true }),
    set: (time) => move({ set: time instanceof Date ? time.toISOString() : time }),
  }
}

/** Most traces that a page has. */
const PAGE = 200

/** Traces of a session without their requests and answers, oldest first. */
export async function traceRecords(server: UnderstudyServer, session: string): Promise<Trace[]> {
  const found: Trace[] = []
  for (;;) {
    const last = found.at(-1)
    const query = new URLSearchParams({ limit: String(PAGE), ...(last && { starting_after: last.id }) })
    const path = `/_understudy/traces?${query}`
    const page = (await ask(server, { method: 'GET', path, session })) as { data: Trace[]; has_more: boolean }
    found.push(...page.data)
    if (!page.has_more) return found.reverse()
  }
}

async function tracesOf(server: UnderstudyServer, session: string): Promise<Trace[]> {
  const traces: Trace[] = []
  for (const { id } of await traceRecords(server, session)) {
    traces.push((await ask(server, { method: 'GET', path: `/_understudy/traces/${id}`, session })) as Trace)
  }
  return traces
}

function checked(
  report: Verification,
  { strict, allowInconclusive }: { strict: boolean; allowInconclusive: boolean },
): Verification {
  const { session, verdict, inconclusive } = report
  const found = report.findings.filter(({ severity, accepted }) => !accepted && (strict || severity === 'error'))
  const passes = verdict === 'pass' || (verdict === 'inconclusive' && allowInconclusive)
  if (passes && found.length === 0) return report
  if (verdict === 'inconclusive' && found.length === 0)
    throw new UnderstudyError(
      `INCONCLUSIVE: session ${session}: ${inconclusive.join('; ')}. Make calls that the scenario applies to, or pass { allowInconclusive: true } to verify().`,
    )
  const unmet = report.expectations.filter(({ met }) => !met)
  const lines = [
    ...unmet.map(({ expected, actual }) => `  - expected ${expected}; actual: ${actual}`),
    ...found.map(({ kind, message }) => `  - ${kind}: ${message}`),
  ]
  throw new UnderstudyError([`FAIL: session ${session}:`, ...lines].join('\n'))
}

/** The documents that a seed names, in base64, where they are files from the current folder. */
function documentsOf(seed: Record<string, unknown>): Record<string, string> {
  const bases = Array.isArray(seed.knowledge) ? seed.knowledge : []
  const files: unknown[] = bases.flatMap((base) => base?.documents ?? []).map((document) => document?.file)
  const named = files.filter((file): file is string => typeof file === 'string' && existsSync(file))
  return Object.fromEntries(named.map((file) => [file, readFileSync(file).toString('base64')]))
}

/** The flags by which a command finds a session. */
export const serverFlags = ({ url, token }: UnderstudyServer, session: string): string[] => [
  ...['--url', url, '--session', session],
  ...(token === undefined ? [] : ['--token', token]),
]

/** What a command of the executable prints; throws `UnderstudyError` with its complaint when it fails. */
export function run(server: UnderstudyServer, args: readonly string[]): Promise<string> {
  const executable = server.executable()
  return new Promise((resolve, reject) => {
    execFile(executable, [...args], { maxBuffer: Number.MAX_SAFE_INTEGER }, (error, stdout, stderr) => {
      if (error) reject(new UnderstudyError(stderr.trim() || error.message))
      else resolve(stdout)
    })
  })
}
