// One try of one target: a backend's reply, under the deadline, as an outcome. An upstream failure is a value here.
import type { BackendCall } from '../contract/backend.ts'
import type { ActiveFault, NextReply } from '../contract/fault.ts'
import type { Reply } from '../contract/reply.ts'
import { startDeadline } from '../lib/deadline.ts'
import type { StreamEvent } from '../lib/sse.ts'
import { failureOf, TimedOut } from './outcome.ts'
import { read } from './read.ts'
import { inTime, readAhead } from './read-ahead.ts'
import type { AttemptInfo, Outcome } from './recording.ts'
import type { CallContext } from './types.ts'

/** Tries a target once; a stream counts as answered when its first content has come. */
export async function attempt(callContext: CallContext, tried: AttemptInfo): Promise<Outcome> {
  const { session, stream, settings, recording, backend } = callContext
  const { model } = tried.target
  const record = recording.attempt(tried)
  const { callTimeout: ms } = settings
  let begun = false
  const reason = () =>
    new TimedOut(
      ms ?? 0,
      `${model} ${stream ? (begun ? 'was silent: nothing came' : 'sent no content') : 'did not answer'}`,
    )
  const deadline =
    ms === undefined ? undefined : startDeadline(session.clock, ms, { outer: callContext.signal, reason })
  const signalNow = () => deadline?.signal ?? callContext.signal
  try {
    const asked = askedOf(callContext, model, signalNow)
    const answer = () => backend.answer(asked)
    const faults = callContext.playing?.faults({
      ...callContext.facts,
      ...asked,
      at: 'provider',
      position: tried.target.position,
      attempt: tried.number,
      now: session.clock.now(),
    })
    const replying = faults
      ? withFaults(faults, answer, { about: asked, onActed: (rule) => record.faults.push(rule) })
      : answer()
    const reply = await inTime(replying, deadline)
    record.replied(reply)
    const reading = inTime(read(reply, asked), deadline)
    const content = reading instanceof Promise ? await reading : reading
    if (content.kind === 'whole') {
      deadline?.signal.throwIfAborted()
      record.contentBegan()
      record.end()
      deadline?.stop()
      return { kind: 'answered', model, content, from: reply, attempt: record }
    }
    const beginning = readAhead(content.events, deadline, beginsWith(callContext, tried, reply))
    const events = beginning instanceof Promise ? await beginning : beginning
    // A client that has gone is told nothing, so nothing would record the end.
    if (callContext.aborted) callContext.signal.throwIfAborted()
    begun = true
    return { kind: 'answered', model, content: { ...content, events }, from: reply, attempt: record }
  } catch (error) {
    deadline?.stop()
    const signal = signalNow()
    const failure = failureOf(signal.aborted ? signal.reason : error, callContext.signal)
    record.end(failure)
    return failure
  }
}

/** What the backend is asked; its signal is made when it is asked for. */
const askedOf = (callContext: CallContext, model: string, signal: () => AbortSignal): BackendCall => {
  const { operation, session, stream, prompt, answerContext, facts } = callContext
  return {
    operation,
    request: withModel(callContext.request, model),
    model,
    stream,
    session: session.name,
    prompt,
    headers: facts.headers,
    answerContext,
    clock: session.clock,
    get signal() {
      return signal()
    },
    uses: session.uses,
  }
}

/** The request to a model; most go to the one that they name. */
const withModel = (request: object, model: string): object =>
  (request as { model?: unknown }).model === model ? request : { ...request, model }

/** What is heard through some faults, the first of them outermost. */
export function withFaults(
  faults: readonly ActiveFault[],
  answer: NextReply,
  { about, onActed }: { about: Omit<Parameters<ActiveFault['apply']>[1], 'acted'>; onActed(rule: string): void },
): Promise<Reply> {
  const heard = faults.reduceRight<NextReply>(
    (next, fault) => () => fault.apply(next, { ...about, acted: () => onActed(fault.rule) }),
    answer,
  )
  return heard()
}

/**
 * Which event a stream begins with: the first that carries content, since until then another attempt can take the place of
 * this one. Where none can, and nobody asked how long to wait, a real provider's beginning is passed on as it comes.
 */
function beginsWith(
  { operation: { events: rules }, settings: { retry, fallbacks, callTimeout }, playing }: CallContext,
  { target, number }: AttemptInfo,
  { provider }: Reply,
): (event: StreamEvent) => boolean {
  const isLast = number > (retry?.count ?? 0) && target.position === fallbacks.length
  const early = isLast && provider !== undefined && callTimeout === undefined && !playing ? rules?.begins : undefined
  return ({ tokens, data }) => Boolean(tokens) || (early?.(data as Record<string, unknown>) ?? false)
}
