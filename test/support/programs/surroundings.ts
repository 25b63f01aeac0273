// What the programs under test share: what surrounds a program, as a process of its own or as a function of the test's process.

/** What surrounds a program. */
export interface Surroundings {
  /** Its environment: what `exec` says, or what any program is configured with. */
  env: Readonly<Record<string, string | undefined>>
  /** In the test's process, its calls end when the program does. */
  fetch: typeof fetch
  /** Lets time pass that the program waits. */
  sleep(ms: number): Promise<void>
  /** Prints a line. */
  say(text: string): void
}

/** A program: gives its exit code, 0 when it gives nothing and 1 when it throws. */
export type Program = (surroundings: Surroundings) => Promise<unknown>
/** A program that behaves as its arguments say. */
export type ProgramOf = (...args: string[]) => Program

/** Where a program with the packages of providers calls. */
export const connectionOf = ({ env, fetch }: Surroundings) => ({
  openai: { baseURL: env.OPENAI_BASE_URL ?? '', apiKey: env.OPENAI_API_KEY ?? '', fetch },
  anthropic: { baseURL: env.ANTHROPIC_BASE_URL ?? '', apiKey: env.ANTHROPIC_API_KEY ?? '', fetch },
})

/** Resolves when the server has received the calls that were sent. */
export async function received({ env, fetch }: Surroundings): Promise<void> {
  await fetch(`${env.UNDERSTUDY_URL}/_understudy/livez`).catch(() => {})
}

/** A fetch whose calls have been received when their client leaves them: on a busy machine, a short timeout ends some before. */
export const receivedFirst = (about: Surroundings): typeof fetch => {
  const { fetch } = about
  const send: (...call: Parameters<typeof fetch>) => Promise<Response> = (input, { signal, ...init } = {}) => {
    const leaves = new AbortController()
    signal?.addEventListener('abort', async () => {
      await received(about)
      leaves.abort(signal.reason)
    })
    return fetch(input, { ...init, signal: leaves.signal })
  }
  return Object.assign(send, { preconnect: fetch.preconnect })
}

/** Lets time pass on the session's clock instead of waiting. */
export async function pass({ env, fetch }: Surroundings, ms: number): Promise<void> {
  const token = env.UNDERSTUDY_TOKEN ?? ''
  const session = token.replace(/^.*session:/, '')
  const response = await fetch(`${env.UNDERSTUDY_URL}/_understudy/sessions/${session}/clock`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ advance: ms }),
  })
  if (!response.ok) throw new Error(`the clock cannot be moved: ${await response.text()}`)
}

/** The behavior of a name; throws for one that there is not. */
export function behaviorOf<Behavior>(behaviors: Readonly<Record<string, Behavior>>, name = ''): Behavior {
  const found = behaviors[name]
  if (!found) throw new Error(`no behavior ${name}`)
  return found
}

/** Numbers from 1. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)
