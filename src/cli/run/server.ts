// Shared by commands that change a running server: its URL, and how its errors are reported.
import type { Command } from 'commander'
import { serverAddress } from '../../config.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { asObject, asText, type JsonObject, parsedJson } from '../../lib/values.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo } from '../io.ts'

/** The server, and the session. */
export interface ServerFlags {
  url?: string
  token?: string
  session?: string
}

/** Command-line flags and environment that select the server. */
export interface ServerPlace extends Pick<CommandIo, 'env'> {
  flags: ServerFlags
}

/** Adds the flags that select the server. */
export const withAddress = (command: Command): Command =>
  command
    .option('--url <URL>', 'server address (default: UNDERSTUDY_URL, else http://127.0.0.1:8633)')
    .option('--token <TOKEN>', 'token for the server')

/** Adds the flags that select the server and the session. */
export const withServer = (command: Command): Command =>
  withAddress(command).option('--session <NAME>', 'session name (default: default)')

/**
 * Calls a path of the server.
 * @throws ServerError if it does not respond or returns an error
 */
export async function callServer<Value>(
  place: ServerPlace,
  method: string,
  path: string,
  body?: object,
): Promise<Value> {
  const { env, flags } = place
  const { url, token } = serverAddress(env, flags)
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (flags.session !== undefined) headers['x-understudy-session'] = flags.session
  if (body !== undefined) headers['content-type'] = 'application/json'
  const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await directFetch(`${url}${path}`, request).catch(() => {
    throw new ServerError(`no server responds at ${url}: start one with 'understudy serve', or set --url`)
  })
  const answer = await jsonAnswer(response, url)
  if (!response.ok) throw new ServerError(asText(answer.message) ?? `${url} returned status ${response.status}`)
  return answer as Value
}

/**
 * The object in a response.
 * @throws ServerError if it is none, as of another program or of a balancer without a server
 */
export async function jsonAnswer(response: Response, url: string): Promise<JsonObject> {
  const found = asObject(parsedJson(await response.text()))
  if (found) return found
  throw new ServerError(
    `the response from ${url} (status ${response.status}) is not from an Understudy server: check the address, and that the server is running`,
  )
}
