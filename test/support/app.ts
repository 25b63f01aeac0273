// The application in this process, without a socket: what most tests call.

import { type Config, readConfig } from '../../src/config.ts'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { createUnderstudy, type Replacements } from '../../src/deps.ts'
import { UNHURRIED } from './job-limits.ts'

type Json = Record<string, unknown>

/** An answer read to its end. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The text as JSON; throws when it is none. */
  json(): Json
}

const raise = (error: unknown) => {
  throw error
}

/** Settings with the workspace that is shipped, which takes 12 ms to store. */
export const SHIPPED_WORKSPACE: Partial<Config> = { seed_file: [] }

/** An application over an empty workspace in memory, on a virtual clock that skips latency too, and over fixtures unless told otherwise. */
export function createTestApp(
  settings: Partial<Config> = {},
  report: (error: unknown) => void = raise,
  instead: Replacements = {},
) {
  const config: Config = {
    ...readConfig({}, {}),
    ...{ clock: 'virtual', skip_latency: true, db: ':memory:', seed_file: ['none'] },
    ...settings,
  }
  const understudy = createUnderstudy(config, report, { jobLimits: UNHURRIED, ...instead })
  const fetch = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const headers = new Headers(init.headers)
    if (!headers.has('authorization')) headers.set('authorization', 'Bearer any')
    const response = await understudy.app.fetch(new Request(`http://localhost${path}`, { ...init, headers }))
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) as Json }
  }
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return {
    fetch,
    post,
    understudy,
    /** The trace of an answer, as the control API shows it. */
    async traceOf(answer: Answer): Promise<StoredTrace> {
      const session = answer.headers.get('x-understudy-session') ?? 'default'
      const id = answer.headers.get('x-understudy-trace')
      const found = await fetch(`/s/${session}/_understudy/traces/${id}`)
      return found.json() as unknown as StoredTrace
    },
    close: () => understudy.sessions.close(),
  }
}
export type TestApp = ReturnType<typeof createTestApp>

/** Makes applications that are closed together. */
export function testApps() {
  const apps: TestApp[] = []
  return {
    appWith(settings: Partial<Config> = {}, instead: Replacements = {}): TestApp {
      const app = createTestApp(settings, raise, instead)
      apps.push(app)
      return app
    },
    close: async () => {
      await Promise.all(apps.map((one) => one.close()))
    },
  }
}

/** A request with exactly these headers: nothing is added. */
export async function send(target: TestApp, path: string, init: RequestInit = {}) {
  const response = await target.understudy.app.fetch(new Request(`http://localhost${path}`, init))
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The data of a stream's events, parsed; `[DONE]` stays a string. */
export const eventsOf = (text: string): unknown[] =>
  text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const data = block.replace(/^(?:event: .*\n)?data: /, '')
      return data === '[DONE]' ? data : JSON.parse(data)
    })
