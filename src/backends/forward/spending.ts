// Guard rails for the user's money: what is forwarded is counted, and refused once a limit is reached.
import type { BackendCall } from '../../contract/core/backend.ts'
import { ApiError, SPENDING_LIMIT } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import { byteChunks } from '../../lib/byte-stream.ts'
import { isComplete, sseReader } from '../../lib/sse.ts'
import type { JsonObject } from '../../lib/values.ts'
import { costOf } from '../../providers/catalogue.ts'
import { usageIn, usageInText } from './usage.ts'

/** The most that a process may forward; no limit where one is undefined. */
interface Limits {
  calls: number | undefined
  /** USD at list price. */
  cost: number | undefined
}

/** What was forwarded since the start. */
interface SpendingTotals {
  calls: number
  /** USD at list price of all answers whose usage and price are known; only counted when it is limited. */
  cost: number
  /** Answers that have ended, and whose cost is not known: they count as 0. */
  unpriced: number
}

/** Counts what is sent to providers. */
export interface Spending {
  readonly limits: Limits
  spent(): SpendingTotals
  /**
   * Sends an attempt on and counts it, failed ones too; its cost is added when the answer has told its usage. Calls that are
   * under way when a limit of cost is reached are still answered, so their cost can go beyond it.
   * @throws ApiError 429 `spending_limit` when a limit is reached already.
   */
  forward(call: Pick<BackendCall, 'model'>, send: () => Promise<Reply>): Promise<Reply>
}

/** Begins to count. */
export function createSpending(limits: Limits): Spending {
  const spent: SpendingTotals = { calls: 0, cost: 0, unpriced: 0 }
  const add = (model: string, usage: JsonObject | null) => {
    const cost = usage && costOf(model, usage)
    // A price of nothing is one by the picture or the minute, which providers do not count.
    if (!cost) spent.unpriced++
    // To a tenth of a millionth of a dollar, as the costs themselves are.
    else spent.cost = Math.round((spent.cost + cost) * 1e10) / 1e10
  }
  return {
    limits,
    spent: () => ({ ...spent }),
    forward({ model }, send) {
      refuseBeyond(limits, spent)
      spent.calls++
      const replying = send()
      // Looking for the usage takes time, so it is only done when somebody asks.
      if (limits.cost === undefined) return replying
      return replying.then((reply) => {
        if (reply.status < 400) onUsage(reply, (usage) => add(model, usage))
        return reply
      })
    },
  }
}

function refuseBeyond({ calls, cost }: Limits, spent: SpendingTotals): void {
  if (calls !== undefined && spent.calls >= calls) {
    throw refused(`${spent.calls} of at most ${calls} calls to real providers were made`, '--max-calls')
  }
  if (cost !== undefined && spent.cost >= cost) {
    throw refused(`calls to real providers cost ${spent.cost} of at most ${cost} USD by list price`, '--max-cost')
  }
}

function refused(reached: string, flag: string): ApiError {
  const message = `this call is not forwarded: ${reached} (${flag}); restart with a higher ${flag} to continue, or use fixtures`
  // Neither a client nor we can mend it by trying again.
  return new ApiError(429, SPENDING_LIMIT, message, { headers: { 'x-should-retry': 'false' } })
}

/** Tells the usage of a reply once, when it has ended or nobody reads on; null when it is not known. */
function onUsage(reply: Reply, notify: (usage: JsonObject | null) => void): void {
  const { body } = reply
  if (body.kind === 'value') {
    notify(reply.usage ?? usageIn(body.value) ?? null)
    return
  }
  if (body.kind === 'events') {
    const { events } = body
    const ended = () => notify(reply.usage)
    if (isComplete(events)) ended()
    else reply.body = { ...body, events: withEnd(events, ended) }
    return
  }
  const { bytes, contentType } = body
  if (bytes instanceof Uint8Array) {
    notify(reply.usage ?? usageInText(decoder.decode(bytes)) ?? null)
    return
  }
  const counter = /^text\/event-stream/i.test(contentType) ? eventCounter() : wholeCounter()
  reply.body = {
    ...body,
    bytes: bytesWithEnd(bytes, counter.add, () => notify(reply.usage ?? counter.usage() ?? null)),
  }
}

const decoder = new TextDecoder()

/** Finds the counts in bytes as they pass. */
interface UsageCounter {
  add(bytes: Uint8Array): void
  usage(): JsonObject | undefined
}

/** Keeps the last counts of a stream of events, and nothing else of it. */
function eventCounter(): UsageCounter {
  const reader = sseReader()
  let last: JsonObject | undefined
  return {
    add(bytes) {
      for (const { event } of reader.read(bytes)) last = (event && usageInText(event.data)) ?? last
    },
    usage: () => last,
  }
}

function wholeCounter(): UsageCounter {
  const pieces: Uint8Array[] = []
  return {
    add: (bytes) => void pieces.push(bytes),
    usage: () => usageInText(decoder.decode(Buffer.concat(pieces))),
  }
}

async function* withEnd<Item>(items: AsyncIterable<Item>, ended: () => void): AsyncGenerator<Item> {
  try {
    yield* items
  } finally {
    ended()
  }
}

/** No generator: who leaves it while the next piece is waited for leaves the stream below at once. */
function bytesWithEnd(
  bytes: AsyncIterable<Uint8Array>,
  came: (piece: Uint8Array) => void,
  ended: () => void,
): AsyncIterable<Uint8Array> {
  const pieces = byteChunks(bytes)
  let over = false
  const end = () => {
    if (!over) ended()
    over = true
  }
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const step = await pieces.next()
        if (step.done) end()
        else if (!over) came(step.value)
        return step
      } catch (error) {
        end()
        throw error
      }
    },
    async return() {
      end()
      await pieces.return?.()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
