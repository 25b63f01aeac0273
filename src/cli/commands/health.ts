// understudy health: whether a server is up and takes calls, as containers and balancers ask it.
import { Command } from 'commander'
import { serverAddress } from '../../config.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { asObject } from '../../lib/values.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { jsonAnswer } from '../run/server.ts'

/** Less than what containers wait for a check. */
const PATIENCE_MS = 2_000

export const healthCommand = ({ env, stdout }: CommandIo): Command =>
  new Command('health')
    .description('say whether a server answers: exits with 0 when it does, with 1 when it does not or is being stopped')
    .option('--url <URL>', 'the server (default: UNDERSTUDY_URL, else http://127.0.0.1 at UNDERSTUDY_PORT or 4010)')
    .action(async (flags: { url?: string }) => stdout.line(await healthOf(serverAddress(env, flags).url)))

async function healthOf(url: string): Promise<string> {
  const answer = await directFetch(`${url}/_understudy/health`, { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(
    () => {
      throw new ServerError(`no server answers at ${url}`)
    },
  )
  const { status, instance, counts } = await jsonAnswer(answer, url)
  if (!answer.ok) throw new ServerError(`${instance ?? url} is ${status ?? `answering ${answer.status}`}`)
  const sessions = asObject(counts)?.sessions
  if (sessions === undefined) throw new ServerError(`${url} answers, and not as understudy does`)
  return `${instance} is ${status}, with ${sessions} ${sessions === 1 ? 'session' : 'sessions'}`
}
