// What happens, as it happens: the server's events, with whatever came while they were interrupted.
import { signal } from '@preact/signals'
import { createParser } from 'eventsource-parser'
import type { CallRow } from '../../../contract/call-row.ts'
import type { Observation } from '../../../contract/observation.ts'
import { rowOf } from '../../../views/call-row.ts'
import { ask, askJson, token, tokenWanted } from './api.ts'
import { addCalls, allCalls, forgetSession, knownOf, knownSessions } from './call-list.ts'

/** Whether events come. */
export const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
/** Whether the calls of before are all here. */
export const loading = signal(true)
/** Traces of calls that are under way. */
export const pending = signal(0)
/** Counts the changes of sessions: whoever shows one looks again. */
export const sessionChanges = signal(0)
/** Counts the steps of tasks. */
export const taskChanges = signal(0)

const FIRST_PAGE = 100
const PAGE = 1_000
const underWay = new Set<string>()
let waiting: CallRow[] = []
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows together what comes in the same moment; a long list is gone through less often. */
function soon(row: CallRow): void {
  waiting.push(row)
  if (timer === undefined) timer = setTimeout(flush, allCalls().length > 10_000 ? 250 : 100)
}
function flush(): void {
  timer = undefined
  const rows = waiting
  waiting = []
  addCalls(rows)
  pending.value = underWay.size
}

function observe(observation: Observation): void {
  if (observation.type === 'call-begun') underWay.add(observation.trace)
  else if (observation.type === 'trace-saved') {
    underWay.delete(observation.trace.id)
    soon(rowOf(observation.trace, { seq: observation.seq, arrived: Date.now() }))
  } else if (observation.type === 'task-changed') taskChanges.value++
  else if (observation.type === 'session-changed') {
    sessionChanges.value++
    const { change, session } = observation
    if (change === 'reset' || change === 'deleted' || change === 'replaced') forgetSession(session)
  }
}

interface Page {
  data: CallRow[]
  next: string | null
}

/** Loads the newest calls that come first. */
async function firstPage(): Promise<void> {
  addCalls((await askJson<Page>(`/_understudy/calls?limit=${FIRST_PAGE}&sessions=all`)).data)
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

/** Loads what came while nobody listened: calls are numbered, so what is missing is known. */
async function fillGaps(): Promise<void> {
  const { data } = await askJson<{ data: { name: string; calls: number }[] }>('/_understudy/sessions')
  const there = new Set(data.map(({ name }) => name))
  // The server may have been started anew, without them.
  for (const name of knownSessions()) if (!there.has(name)) forgetSession(name)
  for (const { name, calls } of data) {
    const { highest, complete } = knownOf(name)
    if (calls < highest) forgetSession(name)
    if (calls !== complete) await load(`&above=${calls < highest ? 0 : complete}`, name)
  }
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Follows the server for as long as the page is open. */
export async function follow(): Promise<void> {
  let first = true
  // Something to look at, before everything is asked for.
  firstPage().catch(() => {})
  for (let pause = 500; ; pause = Math.min(pause * 2, 8_000)) {
    try {
      await listen(async () => {
        pause = 500
        connection.value = 'live'
        await (first ? load('&sessions=all') : fillGaps())
        first = false
        loading.value = false
      })
    } catch {
      // Said by the light in the corner; tried again below.
    }
    underWay.clear()
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

/** Hears events until the connection ends; `ready` is called when it stands. */
async function listen(ready: () => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const response = await ask('/_understudy/live?sessions=all', { signal: stop.signal })
  const failures: unknown[] = []
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'ready') {
        ready().catch((error: unknown) => {
          failures.push(error)
          stop.abort()
        })
      } else if (event === 'dropped') void fillGaps().catch(() => stop.abort())
      else observe(JSON.parse(data) as Observation)
    },
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) parser.feed(piece.value)
}
