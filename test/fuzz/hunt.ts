// A hunt: so many requests from a seed, in sessions of their own, and what went wrong with any of them.
import { isUndocumented, type Surface } from './document.ts'
import { chanceOf } from './random.ts'
import { collectionOf, type FuzzRequest, type Known, makeRequest, POLITE_SESSION, type Source } from './requests.ts'
import { type Result, send, type To } from './send.ts'
import { kindOf } from './shrink.ts'

/** Something that went wrong: the requests of its session, the one that showed it last. */
export interface Find {
  wrong: string
  requests: readonly FuzzRequest[]
}

/** What is hunted through, and how long. */
export interface Hunt {
  seed: number
  /** How many requests are sent. */
  requests: number
  /** How many at once. */
  workers: number
  surface: Surface
  to: To
  /** What its requests are made by; those of the whole surface unless told otherwise. */
  make?(source: Source): FuzzRequest
  /** Told of each request, with those of its session before it, when it is sent; what it gives back is called at the end. */
  sent?(history: readonly FuzzRequest[]): () => void
  /** Told of each kind of find once. */
  found(find: Find): void
  /** Told now and then how many have been sent. */
  progress?(sent: number): Promise<void>
}

/** Requests in one session, after which a new one begins. */
const ROUND = 200
const MAX_KNOWN = 100
const PROGRESS_EVERY = 5_000

/** What came of a hunt. */
export interface Counts {
  sent: number
  /** Answers by the hundred of their status; 0 is none. */
  statuses: Record<string, number>
}

/** Sends requests until there have been enough; each worker has its own chance and its own sessions. */
export async function hunt(settings: Hunt): Promise<Counts> {
  const { seed, requests, workers, surface, to, make = makeRequest, sent: noteSent, found, progress } = settings
  const kinds = new Set<string>()
  const counts: Counts = { sent: 0, statuses: {} }
  const note = async (result: Result, history: readonly FuzzRequest[]) => {
    counts.sent++
    const group = `${Math.floor((result.seen?.status ?? 0) / 100)}xx`
    counts.statuses[group] = (counts.statuses[group] ?? 0) + 1
    if (counts.sent % PROGRESS_EVERY === 0) await progress?.(counts.sent)
    const { wrong } = result
    if (wrong === undefined || (wrong === 'no answer came' && mayWait(history))) return
    const { method = '', path = '' } = history.at(-1) ?? {}
    const kind = `${method} ${path.split(/[/?]/, 4).join('/')} ${kindOf(wrong)}`
    if (kinds.has(kind)) return
    kinds.add(kind)
    found({ wrong, requests: [...history] })
  }
  const work = async (worker: number) => {
    const chance = chanceOf(seed * 1_000 + worker)
    const share = Math.ceil(requests / workers)
    for (let sent = 0, round = 0; sent < share; round++) {
      const session = `fuzz-${worker}-${round}`
      const history: FuzzRequest[] = []
      let known: Known[] = []
      for (let turn = 0; turn < ROUND && sent < share; turn++, sent++) {
        const request = make({ ...surface, chance, known, session })
        history.push(request)
        const ended = noteSent?.([...history])
        const result = await send(request, to)
        ended?.()
        known = [...namesIn(result.seen?.text ?? '', collectionOf(request.path)), ...known].slice(0, MAX_KNOWN)
        await note(to.forwarded ? result : held(result, request, surface), history)
      }
      await clean(to, session)
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  return counts
}

/** The result, held to what the document says too. */
function held(result: Result, request: FuzzRequest, surface: Surface): Result {
  const { seen, wrong } = result
  if (wrong !== undefined || !seen || seen.headers.get('x-understudy-faults')) return result
  if (!isUndocumented(surface, request, seen.status)) return result
  return { seen, wrong: `the document has no status ${seen.status}` }
}

// A scenario may let a call hang, and a session may have been given a real clock.
const mayWait = (history: readonly FuzzRequest[]): boolean =>
  history.some(({ path, headers, body }) => {
    const sent = body && 'json' in body ? JSON.stringify(body.json) : ''
    return (
      path.includes('/scenario') || 'x-understudy-scenario' in headers || /"scenario"|"clock"|"timing"/.test(sent ?? '')
    )
  })

/** Ids, keys and names in an answer, for later requests. */
function namesIn(text: string, of: string): Known[] {
  const said = text.slice(0, 20_000).matchAll(/"(?:_id|id|key|external_id|name|trace_id)":"([^"\\]{1,80})"/g)
  return [...said]
    .map(([, name = '']) => ({ name, of }))
    .filter(({ name }) => name !== POLITE_SESSION)
    .slice(0, 6)
}

/** Removes the session, and those that requests have made, so that there is always room. */
async function clean({ target, base }: To, session: string): Promise<void> {
  const call = (method: string, path: string) =>
    target(new Request(`${base}${path}`, { method, headers: { authorization: 'Bearer fuzz' } })).then((answer) =>
      answer.text(),
    )
  await call('DELETE', `/_understudy/sessions/${session}`)
  const { data = [] } = JSON.parse(await call('GET', '/_understudy/sessions')) as { data?: { name: string }[] }
  for (const { name } of data) {
    if (name !== 'default' && name !== POLITE_SESSION && !name.startsWith('fuzz-'))
      await call('DELETE', `/_understudy/sessions/${name}`)
  }
}
