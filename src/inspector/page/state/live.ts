// What happens, as it happens: the server's events, with whatever came while they were interrupted.
import { signal } from '@preact/signals'
import { createParser } from 'eventsource-parser'
import type { CallRow, CallsSaved } from '../../../contract/call-row.ts'
import type { SessionChanged } from '../../../contract/observation.ts'
import type { FirstCalls } from '../first.ts'
import { accepted, ask, askJson, token, tokenWanted } from './api.ts'
import { addCalls, allCalls, forgetSession, type KnownCalls, knownCalls } from './call-list.ts'

/** Whether events come. */
export const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
/** Whether the calls of before are all here. */
export const loading = signal(true)
/** How many calls are under way. */
export const pending = signal(0)
/** Counts the changes of sessions: whoever shows one looks again. */
export const sessionChanges = signal(0)
/** Counts the steps of tasks. */
export const taskChanges = signal(0)

const PAGE = 1_000
/** What was left out is asked for when nothing has been for so long: not while the server has much to do. */
const CALM_MS = 1_000
/** A long list is gone through less often than rows come. */
const LONG_LIST = 10_000
const LONG_LIST_MS = 250
let waiting: CallRow[] = []
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows together what comes in the same moment. */
function soon(rows: readonly CallRow[]): void {
  waiting.push(...rows)
  if (timer === undefined) timer = setTimeout(flush, allCalls().length > LONG_LIST ? LONG_LIST_MS : 0)
}
function flush(): void {
  clearTimeout(timer)
  timer = undefined
  const rows = waiting
  waiting = []
  addCalls(rows)
}

/** Takes up what is said to have happened. */
function observe(event: string | undefined, data: string): void {
  if (event === 'calls-saved') {
    const { rows, left_out: others, under_way: count } = JSON.parse(data) as CallsSaved
    if (others > 0) miss(others)
    if (rows.length > 0) soon(rows)
    pending.value = count
  } else if (event === 'task-changed') taskChanges.value++
  else if (event === 'session-changed') {
    sessionChanges.value++
    const { change, session } = JSON.parse(data) as SessionChanged
    if (change === 'reset' || change === 'deleted' || change === 'replaced') forget(session)
  } else if (event === 'dropped') miss(1)
}

interface Page {
  data: CallRow[]
  next: string | null
}

/** Takes up the first calls, which have been asked for already. */
export async function firstPage(): Promise<void> {
  const asked = (globalThis as FirstCalls).understudyFirstCalls
  if (!asked) return
  const { data, next } = (await (await accepted(asked)).json()) as Page
  addCalls(data)
  if (next === null) loading.value = false
}

/** Loads pages of calls until there are no more. */
async function load(query: string, session?: string): Promise<void> {
  let cursor: string | null = null
  do {
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: Page = await askJson<Page>(`/_understudy/calls?limit=${PAGE}${query}${from}`, { session })
    addCalls(page.data)
    cursor = page.next
  } while (cursor !== null)
}

/** Calls that were left out, and are still to be asked for. */
export const missing = signal(0)
/** Up to these numbers all calls of a session that there are have been asked for. */
const settled = new Map<string, number>()
/** What was known when the first of the missing calls was left out. */
let whole: Map<string, KnownCalls> | undefined
let calm: ReturnType<typeof setTimeout> | undefined

/** Notes that calls are missing, before later ones are here; those of a session that is not known are all missing. */
function miss(count: number): void {
  flush()
  whole ??= knownCalls(settled)
  missing.value += count
  clearTimeout(calm)
  calm = setTimeout(() => void catchUp().catch(() => connectAgain()), CALM_MS)
}

/** Asks for what is missing, once at a time; what is left out meanwhile is asked for next time. */
const catchUp = () => (filling = filling.catch(() => {}).then(fillGaps))
let filling = Promise.resolve()

/** Loads what came while nobody listened: calls are numbered, so what is missing is known. */
async function fillGaps(): Promise<void> {
  const before = missing.value
  const { data } = await askJson<{ data: { name: string; calls: number }[] }>('/_understudy/sessions')
  const there = new Set(data.map(({ name }) => name))
  const known = knownCalls(settled)
  // The server may have been started anew, without them.
  for (const name of known.keys()) if (!there.has(name)) forget(name)
  for (const { name, calls } of data) {
    const highest = known.get(name)?.highest ?? 0
    const complete = (whole ?? known).get(name)?.complete ?? 0
    if (calls < highest) forget(name)
    if (calls !== complete) await load(`&above=${calls < highest ? 0 : complete}`, name)
    // Those that are under way may be left out yet.
    if (pending.value === 0) settled.set(name, calls)
  }
  if (missing.value !== before) return
  missing.value = 0
  whole = undefined
}

function forget(session: string): void {
  waiting = waiting.filter((row) => row.session !== session)
  whole?.delete(session)
  settled.delete(session)
  forgetSession(session)
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Follows the server for as long as the page is open. */
export async function follow(): Promise<void> {
  let first = true
  for (let pause = 500; ; pause = Math.min(pause * 2, 8_000)) {
    try {
      await listen(async () => {
        pause = 500
        connection.value = 'live'
        await (first ? load('&sessions=all') : catchUp())
        first = false
        loading.value = false
      })
    } catch {
      // Said by the light in the corner; tried again below.
    }
    pending.value = 0
    flush()
    connection.value = 'lost'
    if (tokenWanted.value) await tokenGiven()
    else await wait(pause)
  }
}

const tokenGiven = () =>
  new Promise<void>((resolve) => {
    const stop = token.subscribe(() => {
      if (tokenWanted.value) return
      queueMicrotask(() => stop())
      resolve()
    })
    const other = tokenWanted.subscribe((wanted) => {
      if (wanted) return
      queueMicrotask(() => other())
      resolve()
    })
  })

let connectAgain = () => {}
/** Hears events until the connection ends; `ready` is called when it stands. */
async function listen(ready: () => Promise<void>): Promise<void> {
  const stop = new AbortController()
  connectAgain = () => stop.abort()
  const response = await ask('/_understudy/live?sessions=all&as=rows', { signal: stop.signal })
  const failures: unknown[] = []
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'ready') {
        ready().catch((error: unknown) => {
          failures.push(error)
          stop.abort()
        })
      } else observe(event, data)
    },
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) parser.feed(piece.value)
}
