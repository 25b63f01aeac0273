// Live updates: the server reports above which numbers calls are new, and the page requests those.
import { signal } from '@preact/signals'
import { createParser } from 'eventsource-parser'
import type { CallRow, CallsChanged } from '../../../contract/core/call-row.ts'
import type { FirstCalls } from '../first.ts'
import { accepted, ask, askJson, callPages, type ListedCalls, tokenRequired } from './api.ts'
import { addCalls, forgetSession, replaceCalls } from './call-list.ts'

/** The state of the event stream. */
export const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
/** Whether earlier calls are still being loaded. */
export const loading = signal(true)
/** Number of calls in progress. */
export const pending = signal(0)
/** Changes when sessions change. */
export const sessionChanges = signal(0)
/** Changes with the steps of tasks. */
export const taskChanges = signal(0)

/** The pause between two rounds of requests: a multiple of the duration of the last one, within limits. */
const [REST, MIN_REST_MS, MAX_REST_MS] = [4, 250, 2_000]

/** Whether all calls must be requested: at first, and after an interruption, in which anything may have happened. */
let isStale = true
/** By session, the number above which calls must be requested. */
let stale = new Map<string, number>()
let wake = () => {}

/** Handles an event of the server. */
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

/** Adds the first calls, which were already requested. */
export async function firstPage(): Promise<void> {
  const early = (globalThis as FirstCalls).understudyFirstCalls
  if (!early) return
  const { data, next } = (await (await accepted(early)).json()) as ListedCalls
  addCalls(data)
  if (next === null) loading.value = false
}

/** Requests calls of all pages. */
async function allOf(query: Record<string, string>, session?: string): Promise<CallRow[]> {
  const all: CallRow[] = []
  for await (const rows of callPages(query, { session })) all.push(...rows)
  return all
}

/** Requests new calls. Changes in the meantime are requested in the next round. */
async function round(): Promise<void> {
  const sessions = stale
  stale = new Map()
  if (isStale) {
    isStale = false
    // The list stays as it is until everything is loaded.
    replaceCalls(await allOf({ sessions: 'all' }))
    loading.value = false
    return
  }
  for (const [session, number] of sessions) {
    const rows = await allOf({ above: String(number) }, session)
    // These are all of its calls: it may have been reset.
    if (number === 0) forgetSession(session)
    addCalls(rows)
  }
}

const isDue = () => connection.value === 'live' && document.visibilityState === 'visible' && (isStale || stale.size > 0)

/** Keeps the list up to date for as long as it is visible. */
async function keepUp(): Promise<void> {
  document.addEventListener('visibilitychange', () => wake())
  for (;;) {
    while (!isDue()) await new Promise<void>((resolve) => (wake = resolve))
    const began = performance.now()
    // After a reconnect, everything is requested.
    await round().catch(() => connectAgain())
    await wait(Math.max(MIN_REST_MS, Math.min(MAX_REST_MS, REST * (performance.now() - began))))
  }
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Follows the server for as long as the page is open. */
export async function follow(): Promise<void> {
  void keepUp()
  for (let pause = 500; ; pause = Math.min(pause * 2, 8_000)) {
    // The indicator in the corner shows that it has ended.
    await listen().catch(() => {})
    if (connection.value === 'live') pause = 500
    pending.value = 0
    connection.value = 'lost'
    if (tokenRequired.value) await tokenEntered()
    else await wait(pause)
  }
}

const tokenEntered = () =>
  new Promise<void>((resolve) => {
    const stop = tokenRequired.subscribe((required) => {
      if (required) return
      queueMicrotask(() => stop())
      resolve()
    })
  })

let connectAgain = () => {}
/** Handles events until the connection ends. */
async function listen(): Promise<void> {
  const stop = new AbortController()
  connectAgain = () => stop.abort()
  const response = await ask('/_understudy/live?sessions=all&as=numbers', { signal: stop.signal })
  const parser = createParser({ onEvent: ({ event, data }) => observe(event, data) })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) parser.feed(piece.value)
}

/** A line per mistake, with file, line and column; null if there is none. */
export const fixtureProblem = signal<string | null>(null)

/** Polling interval. */
const LOOK_MS = 2_000

/** Polls for as long as the page is open and visible. */
export async function watchFiles(): Promise<void> {
  for (;;) {
    if (connection.value === 'live' && document.visibilityState === 'visible') await look()
    await wait(LOOK_MS)
  }
}

async function look(): Promise<void> {
  try {
    const { fixtures } = await askJson<{ fixtures: { problem: string | null } }>('/_understudy/health')
    // Health needs no token, so it does not include the content of files.
    fixtureProblem.value =
      fixtures.problem === null ? null : (await askJson<{ problem: string | null }>('/_understudy/fixtures')).problem
  } catch {
    // A server that does not respond is reported elsewhere.
  }
}
