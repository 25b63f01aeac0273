// A session for one test: made before it, printed when it has failed, and dropped.
import { createHash } from 'node:crypto'
import { UnderstudyError } from './executable.ts'
import { ask, send } from './request.ts'
import { startUnderstudy, type UnderstudyServer } from './server.ts'
import { run, serverFlags, traceRecords, understudyOf } from './session.ts'
import type { Understudy } from './types.ts'

/** Which test it is. */
export interface TestName {
  /** Its whole name, with those of the groups that it is in. */
  title: string
  file?: string | undefined
}

/** The session of a test that runs. */
export interface TestSession {
  understudy: Understudy
  /** Ends it: prints its calls when the test has failed, and drops it. The second time it does nothing. */
  close(failed: boolean): Promise<void>
}

/** Makes the session of a test. Its name is made of the test's, so that the same test has the same ids in each run. */
export async function openSession(test: TestName): Promise<TestSession> {
  const server = await startUnderstudy()
  await refuseBrokenFiles(server)
  const session = await newSession(server, sessionName(test))
  let closed = false
  return {
    understudy: understudyOf(server, session),
    async close(failed) {
      if (closed) return
      closed = true
      if (failed) process.stderr.write(await callsOf(server, session, test.title))
      if (server.keepsSessions) return
      await ask(server, { method: 'DELETE', path: `/_understudy/sessions/${encodeURIComponent(session)}` })
    },
  }
}

/** A server goes on with the files that it has read when one of them is broken later: a test does not. */
async function refuseBrokenFiles(server: UnderstudyServer): Promise<void> {
  const health = (await ask(server, { method: 'GET', path: '/_understudy/health' })) as {
    fixtures: { problem: string | null }
  }
  if (health.fixtures.problem === null) return
  // Health is read by everybody, so it names no files.
  const { problem } = (await ask(server, { method: 'GET', path: '/_understudy/fixtures' })) as {
    problem: string | null
  }
  if (problem !== null) throw new UnderstudyError(`invalid fixture files: ${problem}`)
}

const NAME_LENGTH = 40
/** Less than the longest name of a session, since a number may follow. */
const MAX_LENGTH = 100
/** File and title of a test, so that its cassette can be found by them. The checksum is of the whole of both. */
function sessionName({ title, file = '' }: TestName): string {
  const readable = title
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH)
    .replace(/^-|-$/g, '')
  const relative = file.replace(process.cwd(), '').replaceAll('\\', '/')
  const mark = createHash('sha256').update(`${relative}\n${title}`).digest('hex').slice(0, 8)
  let name = `${readable === '' ? 'test' : readable}-${mark}`
  // The last parts of the path, as many as there is room for.
  for (const part of relative.split('/').reverse()) {
    const word = part.replace(/[^A-Za-z0-9._-]+/g, '-')
    if (name.length + word.length >= MAX_LENGTH) break
    if (!/^\.*$/.test(word)) name = `${word}/${name}`
  }
  return name
}

const TAKEN = 409
/** Tests of the same name run beside each other, or once more: the second one is `<name>.2`. */
async function newSession(server: UnderstudyServer, name: string): Promise<string> {
  for (let number = 1; ; number++) {
    const session = number === 1 ? name : `${name}.${number}`
    const path = '/_understudy/sessions'
    // Named in the header as well, where a balancer in front of several servers sees it.
    const { status, body } = await send(server, { method: 'POST', path, session, body: { name: session } })
    if (status === TAKEN) continue
    if (status < 300) return session
    throw new UnderstudyError((body as { message?: string })?.message ?? `${path} returned status ${status}`)
  }
}

/** Calls that are drawn of a test. */
const MAX_DRAWN = 10

/** The calls of a session over time, as `understudy trace show` draws them. */
async function callsOf(server: UnderstudyServer, session: string, title: string): Promise<string> {
  const head = `\nunderstudy: ${JSON.stringify(title)} failed; `
  try {
    const records = await traceRecords(server, session)
    if (records.length === 0) {
      return `${head}its session ${session} received no calls: does the program use understudy.baseURL and understudy.apiKey?\n`
    }
    const shown = records.slice(-MAX_DRAWN)
    const drawn: string[] = []
    for (const { id } of shown)
      drawn.push(await run(server, ['trace', 'show', id, '--brief', ...serverFlags(server, session)]))
    const which = shown.length < records.length ? `the last ${shown.length} of its ${records.length}` : 'its'
    return `${head}${which} calls:\n\n${drawn.join('\n')}\n`
  } catch (error) {
    // The failure of the test is what has to be told; ours must not take its place.
    return `${head}its calls cannot be shown: ${(error as Error).message}\n`
  }
}
