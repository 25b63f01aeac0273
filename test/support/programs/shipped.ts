// A program on a bad day, with the openai package: careful as a good one is, or careless as many are.
// shipped.ts careful|quits|hammers [MODEL] [FALLBACK] [PASS]: PASS are milliseconds that pass before each call.
import OpenAI from 'openai'
import { pass, say, upTo } from './surroundings.ts'

const [manner = '', model = 'openai/gpt-4o', fallback = 'anthropic/claude-sonnet-4', wait = '0'] = process.argv.slice(2)
const RETRIED = [408, 429, 500, 502, 503, 504, 529]
const CALLS = 4
const pause = async () => {
  if (Number(wait) > 0) await pass(Number(wait))
}

type Create = OpenAI.ChatCompletionCreateParams
const requestOf = (call: number): Create => ({
  model,
  stream: call % 2 === 0,
  messages: [{ role: 'user', content: `Question ${call}: what is the weather?` }],
})

/** Reads an answer to its end; throws when it breaks off. */
async function answerOf(client: OpenAI, request: Create, signal?: AbortSignal): Promise<string> {
  const answer = await client.chat.completions.create(request, { ...(signal && { signal }) })
  if ('choices' in answer) return answer.choices[0]?.message.content ?? ''
  let text = ''
  for await (const chunk of answer) text += chunk.choices[0]?.delta.content ?? ''
  return text
}

/** Leaves retry, fallback and timeouts to the gateway, asks again once and without a stream, and tells what cannot be helped. */
async function careful(client: OpenAI): Promise<void> {
  let failed = 0
  for (const call of upTo(CALLS)) {
    await pause()
    const gateway = {
      retry: { count: 3, on_codes: RETRIED },
      fallbacks: [{ model: fallback }],
      timeout: { call_timeout: 10_000 },
    }
    const request = { ...requestOf(call), ...gateway }
    try {
      say(await answerOf(client, request))
    } catch (error) {
      const again = !(error instanceof OpenAI.APIError && (error.status ?? 500) < 500)
      try {
        if (!again) throw error
        await pass(2_000)
        say(await answerOf(client, { ...request, stream: false }))
      } catch (last) {
        failed++
        say(`given up: ${last}`)
      }
    }
  }
  say(`${failed} failed`)
}

const failed = async (client: OpenAI, call: number): Promise<boolean> => {
  try {
    await answerOf(client, requestOf(call))
    return false
  } catch {
    return true
  }
}

const manners: Record<string, (client: OpenAI) => Promise<void>> = {
  careful,
  /** Asks once, and takes what it has for the whole. */
  async quits(client) {
    for (const call of upTo(CALLS)) {
      await pause()
      await failed(client, call)
    }
  },
  /** Tries again and again at once, whatever the answer was. */
  async hammers(client) {
    for (const call of upTo(CALLS)) for (let tries = 1; tries < 25 && (await failed(client, call)); tries++);
  },
}

const behave = manners[manner]
if (!behave) throw new Error(`no manner ${manner}`)
await behave(new OpenAI({ maxRetries: 0 }))
