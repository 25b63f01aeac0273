// What the programs under test share: where the server is, and waiting on the clock of the session.

const env = (name: string) => process.env[name] ?? ''

/** What a program reads of its environment: what `exec` says, or what any program is configured with. */
export const BASE_URL = env('OPENAI_BASE_URL')
export const API_KEY = env('OPENAI_API_KEY')

/** Lets time pass on the session's clock instead of waiting. */
export async function pass(ms: number, token = env('UNDERSTUDY_TOKEN')): Promise<void> {
  const session = token.replace(/^.*session:/, '')
  const response = await fetch(`${env('UNDERSTUDY_URL')}/_understudy/sessions/${session}/clock`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ advance: ms }),
  })
  if (!response.ok) throw new Error(`the clock cannot be moved: ${await response.text()}`)
}

/** A line of output. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** Numbers from 1. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)
