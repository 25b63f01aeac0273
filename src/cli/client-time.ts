// Virtual time passes while a client really waits: what it lets pass with nothing under way counts in full.
import { sessionName, tokenOf, withoutPrefix } from '../access.ts'
import type { Understudy } from '../deps.ts'
import { realClock } from '../lib/clock.ts'
import type { Session } from '../sessions/sessions.ts'

/**
 * A shorter pause is work or jitter of a client that does not wait, whose answers stay the same to the byte. Below the shortest
 * back-off of the usual SDKs (375 ms), and as far above the pauses of a busy machine as that allows.
 */
export const SHORTEST_PAUSE_MS = 350
/** Session names that are remembered; anybody can make up more. */
const MOST_SEEN = 2_000
/** Calls that are looked at for one that is still under way. */
const LOOKED_AT = 200

/**
 * The program, in which the virtual clock of a session with a scenario follows a client that waits by itself.
 * @param real the machine's clock
 */
export function withClientTime({ app, ...rest }: Understudy, real: () => number = realClock.now): Understudy {
  const seen = new Map<string, number>()
  /** Lets the time pass that the client of this call has waited. */
  const catchUp = async (name: string) => {
    const now = real()
    const before = seen.get(name)
    if (before !== undefined && now - before >= SHORTEST_PAUSE_MS) {
      const session = rest.sessions.list().find((one) => one.name === name)
      if (session && rest.runs.current(session)) await follow(session, now)
    }
    if (seen.size >= MOST_SEEN) seen.clear()
    seen.set(name, now)
  }
  return {
    ...rest,
    app: {
      fetch(incoming, hold) {
        // Without a scenario there is no recovery to meet, and answers stay the same however slow a client is.
        if (!rest.runs.begun) return app.fetch(incoming, hold)
        const request = withoutPrefix(incoming)
        const name = isCall(request) ? nameOf(request) : undefined
        return name === undefined ? app.fetch(request, hold) : catchUp(name).then(() => app.fetch(request, hold))
      },
    },
  }
}

const isCall = ({ url }: Request) => url.includes('/v2/') || url.includes('/v1/')

/** The session of a call; undefined when its token is none, which is for the application to say. */
function nameOf(request: Request): string | undefined {
  try {
    return sessionName(request, tokenOf(request))
  } catch {
    return undefined
  }
}

async function follow(session: Session, now: number): Promise<void> {
  if (session.clock.kind !== 'virtual' || session.clock.frozen) return
  const pause = pauseOf(session, now)
  if (pause >= SHORTEST_PAUSE_MS) await session.clock.follow(pause)
}

/** Milliseconds since the last answer had gone out; 0 while a call is under way. */
function pauseOf({ calls, traces }: Session, now: number): number {
  const from = Math.max(0, calls - LOOKED_AT)
  const ended = [...traces.since(from)]
  if (ended.length === 0 || ended.length < calls - from) return 0
  return now - ended.reduce((latest, { heard }) => Math.max(latest, heard?.left ?? 0), 0)
}
