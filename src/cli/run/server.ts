// What commands that change a running server share: where it is, and how its refusals are told.
import type { Command } from 'commander'
import { serverAddress } from '../../config.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { asObject, type JsonObject, parsedJson } from '../../lib/values.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo } from '../io.ts'

/** Which server, and which of its sessions. */
export interface ServerFlags {
  url?: string
  token?: string
  session?: string
}

/** Which server is meant, by what was typed and by the environment. */
export interface ServerPlace extends Pick<CommandIo, 'env'> {
  flags: ServerFlags
}

/** Adds those flags to a command. */
export const withServer = (command: Command): Command =>
  command
    .option('--url <URL>', 'server address (default: UNDERSTUDY_URL, else http://127.0.0.1:4010)')
    .option('--token <TOKEN>', 'token for the server')
    .option('--session <NAME>', 'session name (default: default)')

/** Calls a path of the server; throws `ServerError` when it is not there or refuses. */
export async function callServer(
  { env, flags }: ServerPlace,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const { url, token } = serverAddress(env, flags)
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (flags.session !== undefined) headers['x-understudy-session'] = flags.session
  if (body !== undefined) headers['content-type'] = 'application/json'
  const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await directFetch(`${url}${path}`, request).catch(() => {
    throw new ServerError(`no server responds at ${url}: start one with 'understudy serve', or set --url`)
  })
  const answer = (await jsonAnswer(response, url)) as { message?: string }
  if (!response.ok) throw new ServerError(answer.message ?? `${url} returned status ${response.status}`)
  return answer
}

/** The object that a server answers; throws `ServerError` for what is none, as of another program or of a balancer with nobody behind it. */
export async function jsonAnswer(response: Response, url: string): Promise<JsonObject> {
  const found = asObject(parsedJson(await response.text()))
  if (found) return found
  throw new ServerError(
    `the response from ${url} (status ${response.status}) is not from an Understudy server: check the address, and that the server is running`,
  )
}
