// Limits the cost of real providers: counts forwarded calls, and rejects them once a limit is reached.
import type { BackendCall } from '../../contract/core/backend.ts'
import { ApiError, SPENDING_LIMIT } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import { byteChunks } from '../../lib/byte-stream.ts'
import { isComplete, sseReader } from '../../lib/sse.ts'
import type { JsonObject } from '../../lib/values.ts'
import { costOf } from '../../providers/catalogue.ts'
import { usageIn, usageInText } from './usage.ts'

/** The limits of a process; undefined for none. */
interface Limits {
  calls: number | undefined
  /** USD at list price. */
  cost: number | undefined
}

/** The totals since the start. */
interface SpendingTotals {
  calls: number
  /** USD at list price, for responses with known usage and price; only counted with a cost limit. */
  cost: number
  /** Completed responses of unknown cost, which count as 0. */
  unpriced: number
}

/** Counts what is sent to providers. */
export type Spending = ReturnType<typeof createSpending>

/** Creates the counter. */
export function createSpending(limits: Limits) {
  const spent: SpendingTotals = { calls: 0, cost: 0, unpriced: 0 }
  const add = (model: string, usage: JsonObject | null) => {
    const cost = usage && costOf(model, usage)
    // A price of 0 means a price per image or minute, which providers do not report.
    if (!cost) spent.unpriced++
    // Rounded to 1e-10 dollars, as the costs are.
    else spent.cost = Math.round((spent.cost + cost) * 1e10) / 1e10
  }
  return {
    limits,
    spent: (): SpendingTotals => ({ ...spent }),
    /**
     * Forwards an attempt and counts it, even if it fails. Its cost is added when its usage is known. Calls in progress
     * continue when the cost limit is reached, so the total may exceed it.
     * @throws ApiError 429 `spending_limit` when a limit has been reached.
     */
    forward({ model }: Pick<BackendCall, 'model'>, send: () => Promise<Reply>): Promise<Reply> {
      checkLimits(limits, spent)
      spent.calls++
      const replying = send()
      // Reading the usage takes time, so it is only done for a cost limit.
      if (limits.cost === undefined) return replying
      return replying.then((reply) => {
        if (reply.status < 400) onUsage(reply, (usage) => add(model, usage))
        return reply
      })
    },
  }
}

function checkLimits({ calls, cost }: Limits, spent: SpendingTotals): void {
  if (calls !== undefined && spent.calls >= calls) {
    throw limitError(`${spent.calls} of at most ${calls} calls to real providers were made`, '--max-calls')
  }
  if (cost !== undefined && spent.cost >= cost) {
    throw limitError(`calls to real providers cost ${spent.cost} of at most ${cost} USD by list price`, '--max-cost')
  }
}

function limitError(reached: string, flag: string): ApiError {
  const message = `this call is not forwarded: ${reached} (${flag}); restart with a higher ${flag} to continue, or use fixtures`
  // Retrying cannot fix this.
  return new ApiError(429, SPENDING_LIMIT, message, { headers: { 'x-should-retry': 'false' } })
}

/** Reports the usage of a reply once, when it ends or is no longer read; null when it is unknown. */
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
  const counter = /^text\/event-stream/i.test(contentType) ? eventCounter() : wholeCounter()
  if (bytes instanceof Uint8Array) {
    counter.add(bytes)
    notify(reply.usage ?? counter.usage() ?? null)
    return
  }
  reply.body = {
    ...body,
    bytes: bytesWithEnd(bytes, counter.add, () => notify(reply.usage ?? counter.usage() ?? null)),
  }
}

const decoder = new TextDecoder()

/** Finds token counts in the bytes of a stream as they pass. Keeps only the last ones. */
function eventCounter() {
  const reader = sseReader()
  let last: JsonObject | undefined
  return {
    add(bytes: Uint8Array): void {
      for (const { event } of reader.read(bytes)) last = (event && usageInText(event.data)) ?? last
    },
    usage: () => last,
  }
}

function wholeCounter() {
  const pieces: Uint8Array[] = []
  return {
    add: (bytes: Uint8Array) => void pieces.push(bytes),
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

/** Not a generator: leaving it during a pending read cancels the stream below at once. */
function bytesWithEnd(
  bytes: AsyncIterable<Uint8Array>,
  onPiece: (piece: Uint8Array) => void,
  ended: () => void,
): AsyncIterable<Uint8Array> {
  const pieces = byteChunks(bytes)
  let isEnded = false
  const end = () => {
    if (!isEnded) ended()
    isEnded = true
  }
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const step = await pieces.next()
        if (step.done) end()
        else if (!isEnded) onPiece(step.value)
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
