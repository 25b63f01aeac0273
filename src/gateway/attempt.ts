// One try of one target: a backend's reply, under the deadline, as an outcome. An upstream failure is a value here.
import type { BackendCall } from '../contract/backend.ts'
import type { ActiveFault, NextReply } from '../contract/fault.ts'
import type { Reply } from '../contract/reply.ts'
import { type Deadline, startDeadline, unlessAborted } from '../lib/deadline.ts'
import type { PromptIterator, StreamEvent, StreamEvents } from '../lib/sse.ts'
import { failureOf, TimedOut } from './outcome.ts'
import { read } from './read.ts'
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
    const beginning = toFirstContent(content.events, deadline)
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

/** What a step of an attempt gives, unless the time is up first: not everything listens to the signal. */
const inTime = <T>(step: T | Promise<T>, deadline: Deadline | undefined): T | Promise<T> =>
  deadline && step instanceof Promise ? unlessAborted(deadline.signal, step) : step

/** The same events, read ahead up to the first that carries content; whatever fails before it is thrown. */
function toFirstContent(events: StreamEvents, deadline: Deadline | undefined): StreamEvents | Promise<StreamEvents> {
  if (!Array.isArray(events)) return readAhead(events, deadline)
  deadline?.stop()
  return events
}

async function readAhead(events: StreamEvents, deadline: Deadline | undefined): Promise<StreamEvents> {
  const source = Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : events[Symbol.iterator]()
  const ahead: StreamEvent[] = []
  for (;;) {
    const next = await inTime(source.next(), deadline)
    if (next.done) break
    ahead.push(next.value)
    if (!next.value.tokens) continue
    deadline?.hold()
    return rest(ahead, source, deadline)
  }
  deadline?.stop()
  return ahead
}

/** What was read ahead, then what follows. A client that reads slowly is no silence of the provider. */
async function* rest(
  ahead: readonly StreamEvent[],
  source: Iterator<StreamEvent> | PromptIterator<StreamEvent>,
  deadline: Deadline | undefined,
): AsyncGenerator<StreamEvent> {
  try {
    yield* ahead
    for (;;) {
      deadline?.restart()
      const next = await inTime(source.next(), deadline)
      if (next.done) return
      deadline?.hold()
      yield next.value
    }
  } finally {
    deadline?.stop()
    const left = source.return?.(undefined)
    // A source that did not listen to the signal does not listen to this either.
    if (!deadline?.signal.aborted) await left
  }
}
