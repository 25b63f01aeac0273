// A program under faults, with the openai package: careful as a good one is, or careless as many are.
// shipped careful|quits|hammers [MODEL] [FALLBACK] [PASS]: PASS are milliseconds that pass before each call.
import OpenAI from 'openai'
import { behaviorOf, connectionOf, type Program, pass, upTo } from './surroundings.ts'

const RETRIED = [408, 429, 500, 502, 503, 504, 529]
const CALLS = 4
type Create = OpenAI.ChatCompletionCreateParams
const requestOf = (model: string, call: number): Create => ({
  model,
  stream: call % 2 === 0,
  messages: [{ role: 'user', content: `Question ${call}: what is the weather?` }],
})

/** Reads an answer to its end; throws when it breaks off. A retry says how many were made, as those of the package do. */
async function answerOf(client: OpenAI, request: Create, retries = 0): Promise<string> {
  const headers = { 'x-stainless-retry-count': String(retries) }
  const answer = await client.chat.completions.create(request, { headers })
  if ('choices' in answer) return answer.choices[0]?.message.content ?? ''
  let text = ''
  for await (const chunk of answer) text += chunk.choices[0]?.delta.content ?? ''
  return text
}

/** What a manner is made with. */
interface Bad {
  client: OpenAI
  model: string
  fallback: string
  say(text: string): void
  /** Lets so many milliseconds pass. */
  wait(ms: number): Promise<void>
  /** What passes before each call. */
  pause(): Promise<void>
}

/** Leaves retry, fallback and timeouts to the gateway, asks again once and without a stream, and tells what cannot be helped. */
async function careful({ client, model, fallback, say, wait, pause }: Bad): Promise<void> {
  let failures = 0
  for (const call of upTo(CALLS)) {
    await pause()
    const gateway = {
      retry: { count: 3, on_codes: RETRIED },
      fallbacks: [{ model: fallback }],
      timeout: { call_timeout: 10_000 },
    }
    const request = { ...requestOf(model, call), ...gateway }
    try {
      say(await answerOf(client, request))
    } catch (error) {
      const again = !(error instanceof OpenAI.APIError && (error.status ?? 500) < 500)
      try {
        if (!again) throw error
        await wait(2_000)
        say(await answerOf(client, { ...request, stream: false }))
      } catch (last) {
        failures++
        say(`given up: ${last}`)
      }
    }
  }
  say(`${failures} failed`)
}

const failed = async ({ client, model }: Bad, call: number, retries = 0): Promise<boolean> => {
  try {
    await answerOf(client, requestOf(model, call), retries)
    return false
  } catch {
    return true
  }
}

const manners: Record<string, (bad: Bad) => Promise<void>> = {
  careful,
  /** Asks once, and takes what it has for the whole. */
  async quits(bad) {
    for (const call of upTo(CALLS)) {
      await bad.pause()
      await failed(bad, call)
    }
  },
  /** Tries again and again at once, whatever the answer was. */
  async hammers(bad) {
    for (const call of upTo(CALLS))
      for (let retries = 0; retries < 39 && (await failed(bad, call, retries)); retries++);
  },
}

export const shipped = (
  manner = '',
  model = 'openai/gpt-4o',
  fallback = 'anthropic/claude-sonnet-4',
  before = '0',
): Program => {
  const behave = behaviorOf(manners, manner)
  return (about) => {
    const wait = (ms: number) => (ms > 0 ? pass(about, ms) : Promise.resolve())
    const client = new OpenAI({ maxRetries: 0, ...connectionOf(about).openai })
    return behave({ client, model, fallback, say: about.say, wait, pause: () => wait(Number(before)) })
  }
}
