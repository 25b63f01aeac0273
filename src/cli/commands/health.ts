// understudy health: whether a server is up and accepts calls, for containers and load balancers.
import { Command } from 'commander'
import { serverAddress } from '../../config.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { counted } from '../../lib/units.ts'
import { asObject } from '../../lib/values.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { jsonAnswer } from '../run/server.ts'

/** Less than the timeout of a container's health check. */
const TIMEOUT_MS = 2_000

/** `understudy health`: exit code 0 if the server accepts calls, 1 if it does not respond or is shutting down. */
export const healthCommand = ({ env, stdout }: CommandIo): Command =>
  new Command('health')
    .description(
      'check whether a server accepts calls: exit code 0 if it does, 1 if it does not respond or is shutting down',
    )
    .option(
      '--url <URL>',
      'server address (default: UNDERSTUDY_URL, else http://127.0.0.1 with port UNDERSTUDY_PORT or 8633)',
    )
    .action(async (flags: { url?: string }) => stdout.line(await healthOf(serverAddress(env, flags).url)))

async function healthOf(url: string): Promise<string> {
  const answer = await directFetch(`${url}/_understudy/health`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
    () => {
      throw new ServerError(`no server responds at ${url}`)
    },
  )
  const { status, instance, counts } = await jsonAnswer(answer, url)
  if (!answer.ok)
    throw new ServerError(
      `${instance ?? url} ${status === undefined ? `returned status ${answer.status}` : `is ${status}`}`,
    )
  const sessions = asObject(counts)?.sessions
  if (sessions === undefined) throw new ServerError(`the server at ${url} is not an Understudy server`)
  return `${instance} is ${status}, with ${counted(Number(sessions), 'session')}`
}
