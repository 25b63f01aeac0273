// A program that calls with the openai package, and behaves as its first argument says.
import OpenAI from 'openai'
import { say, upTo } from './surroundings.ts'

const MODEL = 'openai/gpt-4o'
const ask = (client: OpenAI, content: string) =>
  client.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content }] })

const behaviours: Record<string, (number: number) => Promise<unknown>> = {
  /** Takes everything from its environment. */
  async standard() {
    say((await ask(new OpenAI(), 'Hello!')).choices[0]?.message.content ?? '')
  },
  /** A session for each of its tests. */
  async sessions(number) {
    const one = (index: number) => ask(new OpenAI({ apiKey: `session:worker-${index}`, maxRetries: 3 }), 'weather')
    await Promise.all(upTo(number).map(one))
  },
  /** The same prompt many times at once. */
  async equal(number) {
    const client = new OpenAI({ maxRetries: 5 })
    await Promise.all(upTo(number).map(() => ask(client, 'weather')))
  },
  /** Ends its calls itself after a moment, and repeats them so many times. */
  async 'timing out'(number) {
    await ask(new OpenAI({ timeout: 300, maxRetries: number }), 'weather').catch(() => {})
  },
  /** The same, but what it has given up goes on: its fetch takes no notice of the signal. */
  async 'leaving open'(number) {
    const stubborn = (url: string | URL | Request, { signal, ...init }: RequestInit = {}) => {
      const abort = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      return Promise.race([fetch(url, init), abort])
    }
    await ask(new OpenAI({ timeout: 300, maxRetries: number, fetch: stubborn }), 'weather')
    await Bun.sleep(2000)
  },
  /** A second try while the first is slow; the first answer ends the other. */
  async hedging() {
    const client = new OpenAI({ maxRetries: 0 })
    const over = new AbortController()
    const one = async (ms: number) => {
      await Bun.sleep(ms)
      return client.chat.completions.create(
        { model: MODEL, messages: [{ role: 'user', content: 'weather' }] },
        { signal: over.signal },
      )
    }
    await Promise.any([one(0), one(500)])
    over.abort()
  },
  /** A person stops it before it begins, and asks once more. */
  async stopping() {
    const client = new OpenAI({ maxRetries: 2 })
    for (const ms of [300, 900]) {
      await client.chat.completions
        .create({ model: MODEL, messages: [{ role: 'user', content: 'weather' }] }, { signal: AbortSignal.timeout(ms) })
        .catch(() => {})
    }
  },
  /** Half of its sessions take no failure seriously. */
  async mixed(number) {
    const one = async (index: number) => {
      const client = new OpenAI({ apiKey: `session:worker-${index}`, maxRetries: index % 2 === 0 ? 3 : 0 })
      await ask(client, 'weather').catch(() => {})
    }
    await Promise.all(upTo(number).map(one))
  },
}

const [how = '', number = '1'] = process.argv.slice(2)
const behave = behaviours[how]
if (!behave) throw new Error(`no behaviour ${how}`)
await behave(Number(number))
