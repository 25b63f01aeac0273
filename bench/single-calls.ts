// Single calls, one after another: the first event of a forwarded stream, cold starts, memory, and sessions.
import type { Bench } from './bench.ts'
import { headers } from './headers.ts'
import { type Contestant, type Entrant, startAll, stopAll, targetOf, withFlags } from './servers.ts'
import type { Command } from './support.ts'
import { median, megabytes, post, start } from './support.ts'
import { type Line, milliseconds } from './table.ts'
import { startForward } from './throughput.ts'
import { load } from './wrk.ts'

/** Milliseconds until the first bytes of a stream are there; reads it to its end. */
async function toFirstEvent({ url, body }: { url: string; body: string }): Promise<number> {
  const began = performance.now()
  const response = await fetch(url, { method: 'POST', headers, body })
  const reader = response.body?.getReader()
  await reader?.read()
  const took = performance.now() - began
  while (reader && !(await reader.read()).done);
  return took
}

/** Streams of 100 ms each, 16 at a time. */
const WARM_UP_STREAMS = 1_000
/** Where a client of OpenAI's API calls. */
const COMPATIBLE = '/v1/chat/completions'

/** How much later the first event of a stream comes that takes 5 ms an event, than from the upstream itself: through the gateway, and directly. */
export async function firstEvent(bench: Bench): Promise<Line[]> {
  bench.progress('first event of a forwarded stream')
  const { entrants, duty } = await startForward(bench, 'slow')
  const routes = [
    ...entrants.map((entrant) => ({ entrant, measured: 'forward, first event later by' })),
    ...entrants
      .filter(({ understudy }) => understudy)
      .map((entrant) => ({
        entrant: { ...entrant, path: () => COMPATIBLE },
        measured: 'forward, first event of a direct call later by',
      })),
  ]
  // As before every other figure that counts: all code is compiled first.
  for (const { entrant } of routes) {
    if (entrant.understudy)
      await load({ ...targetOf(entrant, duty), connections: 16, seconds: 20, calls: WARM_UP_STREAMS })
  }
  const times = routes.map((): number[] => [])
  // The first two rounds only connect.
  for (let round = -2; round < 10 * bench.options.rounds; round++) {
    for (const [index, { entrant }] of routes.entries()) {
      const took = await toFirstEvent(targetOf(entrant, duty))
      if (round >= 0) times[index]?.push(took)
    }
  }
  await stopAll(entrants)
  const upstream = median(times[0] ?? [])
  return routes.slice(1).map(({ entrant: { name }, measured }, index) => {
    const own = times[index + 1] ?? []
    return timesLine(measured, name, { times: own.map((time) => time - upstream), goal: '<= 1 ms' })
  })
}

/** The median of some times, and how far they are apart; `goal` is what Understudy should reach. */
const timesLine = (
  measured: string,
  server: string,
  { times, goal }: { times: readonly number[]; goal?: string },
): Line => ({
  measured,
  server,
  figure: milliseconds(median(times)),
  spread: `${Math.min(...times).toFixed(1)} - ${Math.max(...times).toFixed(1)} ms`,
  goal: server === 'own' ? goal : undefined,
})

/** Milliseconds from spawning a server to its first answered call. */
async function coldStart(contestant: Contestant, core: number | undefined): Promise<number> {
  const command = contestant.command({ form: 'whole' }) as Command
  const began = performance.now()
  const server = await start({ ...command, core })
  const { url, body } = targetOf({ ...contestant, server }, { form: 'whole' })
  await post(url, body)
  const took = performance.now() - began
  await server.stop()
  return took
}

/** Cold starts of everybody in turn. */
export async function coldStarts(bench: Bench): Promise<Line[]> {
  bench.progress('cold start')
  const times = bench.contestants.map((): number[] => [])
  // The first round only warms the file cache.
  for (let round = -1; round < 5 * bench.options.rounds; round++) {
    for (const [index, one] of bench.contestants.entries()) {
      const took = await coldStart(one, bench.cores?.server)
      if (round >= 0) times[index]?.push(took)
    }
  }
  return bench.contestants.map(({ name }, index) =>
    timesLine('cold start to the first answer', name, { times: times[index] ?? [], goal: '<= 75 ms, aim 60' }),
  )
}

const MANY = 20_000
/** Servers tidy up when nothing is left to do. */
const SETTLE_MS = 3_000

/** Memory after the first call and after many, when the server has come to rest. */
export async function memory(bench: Bench): Promise<Line[]> {
  const idle: Line[] = []
  const used: Line[] = []
  for (const contestant of bench.contestants) {
    bench.progress(`memory of ${contestant.name}`)
    const [entrant] = (await startAll([contestant], { form: 'whole' }, bench.cores)) as [Entrant]
    const line = (measured: string, goal: string): Line => ({
      measured,
      server: contestant.name,
      figure: megabytes(entrant.server.memory()),
      goal: contestant.name === 'own' ? goal : undefined,
    })
    await Bun.sleep(SETTLE_MS)
    idle.push(line('memory, idle', '<= 65 MB, aim 55'))
    await load({ ...targetOf(entrant, { form: 'whole' }), connections: 16, seconds: 600, calls: MANY })
    await Bun.sleep(SETTLE_MS)
    used.push(line(`memory, ${MANY.toLocaleString('en')} calls`, '<= 100 MB, aim 90'))
    await stopAll([entrant])
  }
  return [...idle, ...used]
}

const SESSIONS = 1_000
/** Calls before them, one in ten in a session of its own: what they leave behind is no part of a session. */
const FIRST_CALLS = 1_000

/** Sessions in one process: the first call in each, which makes it, a later one, and the memory that one takes. */
export async function sessions(bench: Bench): Promise<Line[]> {
  const lines: Line[] = []
  for (const contestant of bench.contestants.filter(({ understudy }) => understudy)) {
    bench.progress(`${SESSIONS} sessions of ${contestant.name}`)
    const roomy = withFlags(contestant, '--max-sessions', String(2 * SESSIONS))
    const [entrant] = (await startAll([roomy], { form: 'whole' }, bench.cores)) as [Entrant]
    const { server } = entrant
    const { url, body } = targetOf(entrant, { form: 'whole' })
    const timed = async (session: string) => {
      const began = performance.now()
      await post(url, body, { 'x-understudy-session': session })
      return performance.now() - began
    }
    for (let call = 0; call < FIRST_CALLS; call++) await timed(call % 10 ? 'default' : `warm-${call}`)
    await Bun.sleep(SETTLE_MS)
    const before = server.memory()
    const names = Array.from({ length: SESSIONS }, (_, index) => `session-${index}`)
    const times: { first: number[]; later: number[] } = { first: [], later: [] }
    const began = performance.now()
    for (const name of names) times.first.push(await timed(name))
    const made = performance.now() - began
    await Bun.sleep(SETTLE_MS)
    const each = (server.memory() - before) / SESSIONS
    for (const name of names) times.later.push(await timed(name))
    await server.stop()
    lines.push(...sessionLines(contestant.name, { each, made, ...times }))
  }
  return lines.toSorted((a, b) => a.measured.localeCompare(b.measured))
}

function sessionLines(
  server: string,
  { each, made, first, later }: { each: number; made: number; first: number[]; later: number[] },
): Line[] {
  const goal = server === 'own' ? '<= 0.2 MB, aim 0.15' : undefined
  return [
    timesLine('session: first call in a new one', server, { times: first, goal: '<= 1 ms, aim 0.5' }),
    timesLine('session: later call', server, { times: later }),
    { measured: `session: ${SESSIONS} made in`, server, figure: milliseconds(made) },
    { measured: 'session: memory', server, figure: `${(each / 1e6).toFixed(3)} MB`, goal },
  ]
}

/** Messages of a long conversation, of which the short one is a tenth. */
const LONG_HISTORY = 10_000
const HISTORY_CALLS = 10

/** Calls with long conversations of tool calls and their results, judged by the rules of the provider and not: time grows with the length. */
export async function histories(bench: Bench): Promise<Line[]> {
  const lines: Line[] = []
  const [, own] = bench.contestants
  for (const mode of ['strict', 'off']) {
    bench.progress(`conversations of ${LONG_HISTORY} messages, ${mode}`)
    const [entrant] = (await startAll([withFlags(own, '--history', mode)], { form: 'whole' }, bench.cores)) as [Entrant]
    const { url } = targetOf(entrant, { form: 'whole' })
    for (const count of [LONG_HISTORY / 10, LONG_HISTORY]) {
      const body = JSON.stringify({ model: 'openai/gpt-4.1', messages: toolConversation(count) })
      const times: number[] = []
      for (let call = -2; call < HISTORY_CALLS * bench.options.rounds; call++) {
        const began = performance.now()
        await post(url, body)
        if (call >= 0) times.push(performance.now() - began)
      }
      lines.push(
        timesLine(`conversation of ${count.toLocaleString('en')} messages`, `own, --history ${mode}`, { times }),
      )
    }
    await stopAll([entrant])
  }
  return lines
}

/** A valid conversation of so many messages, with a tool call and its result in every four. */
function toolConversation(count: number): object[] {
  const messages: object[] = []
  for (let index = 0; messages.length < count - 1; index++) {
    const id = `call_${index}`
    messages.push(
      { role: 'user', content: `Question ${index}` },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: id, content: 'Result' },
      { role: 'assistant', content: 'Answer' },
    )
  }
  return [...messages, { role: 'user', content: 'And now?' }]
}
