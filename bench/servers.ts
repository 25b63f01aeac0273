// Who is measured, and how each is started: to answer by itself, or to forward to an upstream.
import { join } from 'node:path'
import { buildCommit, commitOf, compile } from './compile.ts'
import type { ConstantAnswers } from './constant-server.ts'
import { BenchError, type Options } from './options.ts'
import { type Command, freePort, post, root, type Server, serveArgs, start, understudy } from './support.ts'

/** The forms of the measured answer; the events of a slow stream come 5 ms apart. */
export type Form = 'whole' | 'stream' | 'slow'

/** What a server is started for. */
export interface Duty {
  form: Form
  /** Where calls are forwarded to; the server answers by itself without. */
  upstream?: string | undefined
}

/** Somebody who is measured. */
export interface Contestant {
  name: string
  /** Nothing when it cannot do that. */
  command(duty: Duty): Command | undefined
  /** Where the measured call goes. */
  path(form: Form): string
  /** Whether it is an Understudy: every answered call must have its trace, and there are sessions. */
  understudy: boolean
}

/** Content chunks of a streamed answer. */
export const CHUNKS = 20

const PROMPT = 'Hello there, how are you today?'
// A token and five letters a word, so that others that cut an answer by its letters make the same number of chunks.
const CONTENT = 'There will come good days when each road that lies here will lead some folk back home from work late'

/** The body of the measured call. */
export const bodyOf = ({ form, upstream }: Duty): string =>
  JSON.stringify({
    model: upstream === undefined ? 'openai/gpt-4o-mini' : 'upstream/gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: PROMPT },
    ],
    max_completion_tokens: 2 * CHUNKS,
    stream: form !== 'whole',
  })

/** Where an Understudy answers it. */
export const ROUTER = '/v2/router/chat/completions'

/** An executable of Understudy with one fixture file. */
function understudyOf(name: string, executable: string, folder: string): Contestant {
  const fixture = join(folder, 'fixture.yaml')
  return {
    name,
    understudy: true,
    path: () => ROUTER,
    command({ upstream, form }) {
      const args = [...serveArgs(executable), '--fixtures', fixture]
      return { args: upstream === undefined ? args : [...args, '--config', settingsFile(folder, form)] }
    },
  }
}

const settingsFile = (folder: string, form: Form) => join(folder, `${form}.yaml`)

/** Writes the settings with which an upstream is a provider. */
export const writeSettings = (folder: string, { form, upstream }: Duty): Promise<number> =>
  Bun.write(settingsFile(folder, form), `providers:\n  upstream: { base_url: "${upstream}", backend: forward }\n`)

/** The peer: its own command line, as its users start it, on Node, and nothing printed for a call. */
function aimock(folder: string): Contestant {
  const node = Bun.which('node')
  if (!node) throw new BenchError('--peer aimock needs node')
  const cli = join(root, 'node_modules/@copilotkit/aimock/dist/cli.js')
  return {
    name: 'aimock',
    understudy: false,
    path: () => '/v1/chat/completions',
    command({ upstream }) {
      const port = freePort()
      const fixtures = join(folder, upstream === undefined ? 'peer.json' : 'peer-none.json')
      const args = [node, cli, '-p', String(port), '-f', fixtures, '--log-level', 'silent']
      if (upstream === undefined) return { port, args: [...args, '-c', String(CONTENT.length / CHUNKS)] }
      return { port, args: [...args, '--proxy-only', '--provider-openai', upstream] }
    },
  }
}

async function writeFixtures(folder: string): Promise<void> {
  const match = { userMessage: PROMPT }
  const files = {
    'fixture.yaml': `match: { operation: chat.completions, user: ${JSON.stringify(PROMPT)} }\nreply: { content: ${JSON.stringify(CONTENT)} }\n`,
    'peer.json': JSON.stringify({ fixtures: [{ match, response: { content: CONTENT } }] }),
    'peer-none.json': JSON.stringify({
      fixtures: [{ match: { userMessage: 'nobody says this' }, response: { content: '' } }],
    }),
  }
  for (const [name, text] of Object.entries(files)) await Bun.write(join(folder, name), text)
}

/** The very bytes that Understudy answers. */
async function answersOf(own: Contestant): Promise<ConstantAnswers> {
  const server = await start(own.command({ form: 'whole' }) as Command)
  const call = (form: Form) => post(`${server.url}${own.path(form)}`, bodyOf({ form }))
  const [whole, streamed] = [await call('whole'), await call('stream')]
  await server.stop()
  const events = streamed.split(/(?<=\n\n)/)
  const chunks = events.filter((event) => /"content":"[^"]/.test(event)).length
  if (chunks !== CHUNKS || !whole.includes(CONTENT)) {
    throw new BenchError(`the measured answer is not that of the fixture with ${CHUNKS} chunks: ${whole}`)
  }
  return { whole, events }
}

/** Prepares everybody who is measured: the constant server first, then this folder's Understudy. */
export async function contestants(
  options: Options,
  folder: string,
): Promise<readonly [Contestant, Contestant, ...Contestant[]]> {
  // A commit that is not there must show before anything is built.
  const commit = options.against === undefined ? undefined : commitOf(options.against)
  await writeFixtures(folder)
  const own = understudyOf('own', understudy, folder)
  const answers = join(folder, 'answers.json')
  await Bun.write(answers, JSON.stringify(await answersOf(own)))
  const small = async (name: 'constant' | 'skeleton', path: Contestant['path']): Promise<Contestant> => {
    const args = [await compile(`${name}-server`, folder), answers]
    return { name, understudy: false, path, command: ({ upstream }) => (upstream === undefined ? { args } : undefined) }
  }
  const constant = await small('constant', (form) => `/${form}/chat/completions`)
  const others = [await small('skeleton', () => ROUTER)]
  if (commit !== undefined) {
    console.error(`bench: building ${commit} ...`)
    others.push(understudyOf(commit, await buildCommit(commit), folder))
  }
  if (options.peer) others.push(aimock(folder))
  return [constant, own, ...others]
}

/** A contestant that is started with more flags. */
export const withFlags = (one: Contestant, ...flags: readonly string[]): Contestant => ({
  ...one,
  command(duty) {
    const command = one.command(duty)
    return command && { ...command, args: [...command.args, ...flags] }
  },
})

/** A contestant with its server. */
export interface Entrant extends Contestant {
  server: Server
  /** Waits until it has done what calls left it to do; its processor time counts until then. */
  settled?: () => Promise<void>
}

/** Where and with what an entrant is called. */
export const targetOf = ({ server, path }: Entrant, duty: Duty): { url: string; body: string } => ({
  url: `${server.url}${path(duty.form)}`,
  body: bodyOf(duty),
})

/** Starts everybody who can do it; each has answered a call. */
export async function startAll(
  all: readonly Contestant[],
  duty: Duty,
  cores: { server: number | string } | undefined,
): Promise<Entrant[]> {
  const entrants: Entrant[] = []
  for (const one of all) {
    const command = one.command(duty)
    if (!command) continue
    const entrant = { ...one, server: await start({ ...command, core: cores?.server }) }
    const { url, body } = targetOf(entrant, duty)
    await post(url, body)
    entrants.push(entrant)
  }
  return entrants
}

/** Traces that an Understudy has made so far. */
export async function tracesOf({ server }: Entrant): Promise<number> {
  const health = (await (await fetch(`${server.url}/_understudy/health`)).json()) as {
    counts: { traces: number; traces_dropped: number }
  }
  return health.counts.traces + health.counts.traces_dropped
}

/** Stops some servers. */
export async function stopAll(entrants: readonly Entrant[]): Promise<void> {
  await Promise.all(entrants.map(({ server }) => server.stop()))
}
