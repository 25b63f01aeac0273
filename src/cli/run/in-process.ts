// A server in this process, without a socket, for calls that a command makes itself.
import { type Config, type Environment, readConfig } from '../../config.ts'
import { createUnderstudy } from '../../deps.ts'
import type { Log } from '../print/log.ts'

/** Sends a request to a path of a server. */
export type SendRequest = (path: string, init?: RequestInit) => Promise<Response>

/** Starts a server that needs no token. */
export function inProcess(config: Config, { report }: Pick<Log, 'report'>) {
  const { app, sessions } = createUnderstudy({ ...config, token: [], tokens: {} }, report)
  const send: SendRequest = (path, init = {}) => {
    const headers = { authorization: 'Bearer any', ...init.headers }
    return app.fetch(new Request(`http://localhost${path}`, { ...init, headers }))
  }
  return { send, sessions }
}

/** Sends JSON. */
export const postJson = (send: SendRequest, path: string, body: unknown, headers: Record<string, string> = {}) =>
  send(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })

/** Sends the call of a client, which may not get a response at all: the trace has the result. */
export const makeCall = (send: SendRequest, path: string, body: unknown, headers?: Record<string, string>) =>
  postJson(send, path, body, headers)
    .then((response) => response.arrayBuffer())
    .catch(() => {})

/** The settings of a rehearsal: nothing is forwarded, so that it is free, and latency is skipped. */
export function rehearsalConfig(env: Environment): Config {
  const config = readConfig({}, env)
  return {
    ...config,
    ...{ telemetry: undefined, db: ':memory:', scenario: [] },
    forwarding: { ...config.forwarding, upstreams: [] },
    timeOverrides: { latency: 'skip' },
  }
}
