// npm run bench kill [TRIALS] [EXECUTABLE] [SEED]: kills the server with SIGKILL at random moments while calls are in flight, and
// starts it again on the same file: every call that was answered has its trace, every decision about a call of a tool and every result
// of one that a client was shown is there, replies of fixtures go on where they were, and the file is sound. Ends with 1 when not.
import { Database } from 'bun:sqlite'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { headers } from './headers.ts'
import { begin, lostWork, sizeOf, type Work, workUntilKilled, writeFixtures } from './kill-work.ts'
import { BenchError } from './options.ts'
import { bodyOf, ROUTER } from './servers.ts'
import { median, type Server, scratch, start, understudy } from './support.ts'

const [trials = '1000', executable = understudy, seed = '1'] = process.argv.slice(2)
/** Calls in flight at any moment; every second one is streamed. */
const CLIENTS = 16
/** The server is killed after this many ms of calls at most, and after this many of its start. */
const MAX_LOAD_MS = 120
const MAX_START_MS = 150
/** Before every so many trials it is killed while it starts as well; so many are made on the same file. */
const STARTS = 10
const ON_A_FILE = 25
/** Traces asked for at once. */
const AT_ONCE = 16

/** The same numbers from 0 to 1 for the same seed. */
function* chances(from: number): Generator<number, never> {
  let state = from
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}
const chance = chances(Number(seed))
const upTo = (most: number) => chance.next().value * most

/** What was answered to its last byte: the ids of the traces, and the work beside them. */
interface Answered {
  ids: string[]
  /** Calls that the kill cut off. */
  cut: number
  work?: Work
}

async function oneCall(url: string, stream: boolean): Promise<string | undefined> {
  const body = bodyOf({ form: stream ? 'stream' : 'whole' })
  const response = await fetch(`${url}${ROUTER}`, { method: 'POST', headers, body })
  const id = response.headers.get('x-understudy-trace')
  const text = await response.text()
  if (!response.ok || id === null) throw new BenchError(`a call was answered with ${response.status}: ${text}`)
  // A stream without its end mark was not answered, however its connection ended.
  return !stream || text.trimEnd().endsWith('data: [DONE]') ? id : undefined
}

/** Calls without a pause until the server is killed. */
async function callUntilKilled(server: Server): Promise<Answered> {
  const answered: Answered = { ids: [], cut: 0 }
  let killed = false
  const first = Promise.withResolvers<void>()
  const client = async (number: number) => {
    for (let call = number; !killed; call++) {
      try {
        const id = await oneCall(server.url, call % 2 === 1)
        if (id === undefined) answered.cut++
        else answered.ids.push(id)
        first.resolve()
      } catch (error) {
        if (error instanceof BenchError || !killed) throw error
        answered.cut++
      }
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)))
  const working = workUntilKilled(server.url, { name: `trial-${totals.trials}`, over: () => killed })
  // Not before something is answered: the first call takes the longest.
  await Promise.race([clients, working, first.promise.then(() => Bun.sleep(upTo(MAX_LOAD_MS)))])
  killed = true
  await server.stop()
  await clients
  return { ...answered, work: await working }
}

/** Ids of answered calls that the server has no trace of. */
async function lostOf({ url }: Server, ids: readonly string[]): Promise<string[]> {
  const lost: string[] = []
  const left = [...ids]
  const ask = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const response = await fetch(`${url}/_understudy/traces/${id}`, { headers })
      const trace = (await response.json()) as { id?: string; outcome?: string }
      if (trace.id !== id || trace.outcome !== 'succeeded') lost.push(id)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, ask))
  return lost
}

/** What is wrong with a copy of the file as the kill left it, log included; "ok" when nothing is. */
function soundness(file: string, folder: string): string {
  const copy = join(folder, 'copy.db')
  for (const end of ['', '-wal']) {
    rmSync(`${copy}${end}`, { force: true })
    if (existsSync(`${file}${end}`)) cpSync(`${file}${end}`, `${copy}${end}`)
  }
  rmSync(`${copy}-shm`, { force: true })
  const database = new Database(copy, { create: true })
  try {
    return Object.values(database.query('PRAGMA integrity_check').get() as object).join(' ')
  } catch (error) {
    return (error as Error).message
  } finally {
    database.close()
  }
}

const argsOf = (file: string) => [
  ...[executable, 'serve', '--json', '--port', '0'],
  ...['--db', file, '--fixtures', fixtures],
]

/** Kills the server while it starts. */
async function killedStart(file: string): Promise<void> {
  const child = Bun.spawn(argsOf(file), { stdout: 'ignore', stderr: 'ignore' })
  await Bun.sleep(upTo(MAX_START_MS))
  child.kill('SIGKILL')
  await child.exited
}

const { folder } = scratch()
const fixtures = writeFixtures(folder)
const totals = { trials: 0, answered: 0, decisions: 0, results: 0, replies: 0, cut: 0, lost: 0, unsound: 0, starts: 0 }
const answeredEach: number[] = []

/** Kills the server once on a file that it has perhaps been killed on before; gives what was answered. */
async function trial(file: string, before: Answered | undefined): Promise<Answered> {
  if (++totals.trials % STARTS === 0) {
    await killedStart(file)
    totals.starts++
  }
  const server = await start({ args: argsOf(file) })
  if (before) await look(server, before)
  else await begin(server.url)
  const answered = await callUntilKilled(server)
  const { ids, cut, work } = answered
  totals.answered += ids.length
  if (work) for (const [kind, count] of Object.entries(sizeOf(work))) totals[kind as keyof typeof totals] += count
  totals.cut += cut
  answeredEach.push(ids.length)
  const sound = soundness(file, folder)
  if (sound !== 'ok') {
    totals.unsound++
    console.error(`trial ${totals.trials}: the file is not sound: ${sound}`)
  }
  if (totals.trials % 100 === 0) console.error(JSON.stringify(totals))
  return answered
}

/** Looks for what was answered before the server was killed. */
async function look(server: Server, { ids, work }: Answered): Promise<void> {
  const lost = await lostOf(server, ids)
  const others = work ? await lostWork(server.url, work) : []
  totals.lost += lost.length + others.length
  if (lost.length > 0) console.error(`trial ${totals.trials}: answered without a trace: ${lost.join(' ')}`)
  for (const what of others) console.error(`trial ${totals.trials}: lost: ${what}`)
}

while (totals.trials < Number(trials)) {
  const file = join(folder, `${totals.trials}.db`)
  let answered: Answered | undefined
  for (let left = Math.min(ON_A_FILE, Number(trials) - totals.trials); left > 0; left--) {
    answered = await trial(file, answered)
  }
  const server = await start({ args: argsOf(file) })
  if (answered) await look(server, answered)
  await server.stop()
  for (const end of ['', '-wal', '-shm', '-lock']) rmSync(`${file}${end}`, { force: true })
}
console.table([{ ...totals, 'answered in a trial (median)': median(answeredEach) }])
process.exit(totals.lost + totals.unsound === 0 ? 0 : 1)
