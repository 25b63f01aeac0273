// What happens, as it happens: the server says above which numbers calls are new, and the page asks for those.
import { signal } from '@preact/signals'
import { createParser } from 'eventsource-parser'
import type { CallRow, CallsChanged } from '../../../contract/core/call-row.ts'
import type { FirstCalls } from '../first.ts'
import { accepted, ask, callPages, type ListedCalls, tokenRequired } from './api.ts'
import { addCalls, forgetSession, replaceCalls } from './call-list.ts'

/** Whether events come. */
export const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
/** Whether the calls of before are not all here yet. */
export const loading = signal(true)
/** How many calls are under way. */
export const pending = signal(0)
/** Counts the changes of sessions: whoever shows one looks again. */
export const sessionChanges = signal(0)
/** Counts the steps of tasks. */
export const taskChanges = signal(0)

/** The pause between two rounds of requests: so many times what the last one took, within these bounds. */
const [REST, MIN_REST_MS, MAX_REST_MS] = [4, 250, 2_000]

/** Whether all calls are to be asked for: at first, and after an interruption, in which anything may have happened. */
let isStale = true
/** By session, the number above which calls are to be asked for. */
let stale = new Map<string, number>()
let wake = () => {}

/** Takes up what the server says has happened. */
function observe(event: string | undefined, data: string): void {
  if (event === 'ready') {
    connection.value = 'live'
    isStale = true
  } else if (event === 'calls') {
    const { under_way: count, above } = JSON.parse(data) as CallsChanged
    pending.value = count
    for (const [session, number] of Object.entries(above))
      stale.set(session, Math.min(number, stale.get(session) ?? number))
  } else if (event === 'task-changed') taskChanges.value++
  else if (event === 'session-changed') sessionChanges.value++
  wake()
}

/** Takes up the first calls, which have been asked for already. */
export async function firstPage(): Promise<void> {
  const asked = (globalThis as FirstCalls).understudyFirstCalls
  if (!asked) return
  const { data, next } = (await (await accepted(asked)).json()) as ListedCalls
  addCalls(data)
  if (next === null) loading.value = false
}

/** Asks for calls, those of all pages together. */
async function allOf(query: Record<string, string>, session?: string): Promise<CallRow[]> {
  const all: CallRow[] = []
  for await (const rows of callPages(query, { session })) all.push(...rows)
  return all
}

/** Asks for what is new. What changes meanwhile is asked for in the next round. */
async function round(): Promise<void> {
  const sessions = stale
  stale = new Map()
  if (isStale) {
    isStale = false
    // What is listed already stays as it is until all is here.
    replaceCalls(await allOf({ sessions: 'all' }))
    loading.value = false
    return
  }
  for (const [session, number] of sessions) {
    const rows = await allOf({ above: String(number) }, session)
    // Those are all that it has: it may have begun anew.
    if (number === 0) forgetSession(session)
    addCalls(rows)
  }
}

const isDue = () => connection.value === 'live' && document.visibilityState === 'visible' && (isStale || stale.size > 0)

/** Keeps the list as the server has it, for as long as somebody can see it. */
async function keepUp(): Promise<void> {
  document.addEventListener('visibilitychange', () => wake())
  for (;;) {
    while (!isDue()) await new Promise<void>((resolve) => (wake = resolve))
    const began = performance.now()
    // Once the connection is there again, everything is asked for.
    await round().catch(() => connectAgain())
    await wait(Math.max(MIN_REST_MS, Math.min(MAX_REST_MS, REST * (performance.now() - began))))
  }
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Follows the server for as long as the page is open. */
export async function follow(): Promise<void> {
  void keepUp()
  for (let pause = 500; ; pause = Math.min(pause * 2, 8_000)) {
    // Why it ends is said by the light in the corner.
    await listen().catch(() => {})
    if (connection.value === 'live') pause = 500
    pending.value = 0
    connection.value = 'lost'
    if (tokenRequired.value) await tokenGiven()
    else await wait(pause)
  }
}

const tokenGiven = () =>
  new Promise<void>((resolve) => {
    const stop = tokenRequired.subscribe((wanted) => {
      if (wanted) return
      queueMicrotask(() => stop())
      resolve()
    })
  })

let connectAgain = () => {}
/** Takes up events until the connection ends. */
async function listen(): Promise<void> {
  const stop = new AbortController()
  connectAgain = () => stop.abort()
  const response = await ask('/_understudy/live?sessions=all&as=numbers', { signal: stop.signal })
  const parser = createParser({ onEvent: ({ event, data }) => observe(event, data) })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) parser.feed(piece.value)
}
