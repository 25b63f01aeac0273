// A program that calls with the openai package, and behaves as its first argument says.
import OpenAI from 'openai'
import { behaviorOf, connectionOf, type Program, receivedFirst, type Surroundings, upTo } from './surroundings.ts'

const MODEL = 'openai/gpt-4o'
const clientOf = (about: Surroundings, more: ConstructorParameters<typeof OpenAI>[0] = {}) =>
  new OpenAI({ ...connectionOf(about).openai, ...more })
const ask = (client: OpenAI, content: string) =>
  client.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content }] })

const behaviors: Record<string, (about: Surroundings, number: number) => Promise<unknown>> = {
  async standard(about) {
    about.say((await ask(clientOf(about), 'Hello!')).choices[0]?.message.content ?? '')
  },
  /** A session for each of its tests. */
  async sessions(about, number) {
    const one = (index: number) => ask(clientOf(about, { apiKey: `session:worker-${index}`, maxRetries: 3 }), 'weather')
    await Promise.all(upTo(number).map(one))
  },
  /** The same prompt many times at once. */
  async equal(about, number) {
    const client = clientOf(about, { maxRetries: 5 })
    await Promise.all(upTo(number).map(() => ask(client, 'weather')))
  },
  /** Ends its calls itself after a moment, and repeats them so many times. */
  async 'timing out'(about, number) {
    const fetch = receivedFirst(about)
    await ask(clientOf(about, { timeout: 300, maxRetries: number, fetch }), 'weather').catch(() => {})
  },
  /** The same, but what it has given up goes on: its fetch takes no notice of the signal. */
  async 'leaving open'(about, number) {
    const stubborn = (url: string | URL | Request, { signal, ...init }: RequestInit = {}) => {
      const abort = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      return Promise.race([about.fetch(url, init), abort])
    }
    await ask(clientOf(about, { timeout: 300, maxRetries: number, fetch: stubborn }), 'weather')
    await Bun.sleep(2000)
  },
  /** A second try while the first is slow; the first answer ends the other. */
  async hedging(about) {
    const client = clientOf(about, { maxRetries: 0 })
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
  async stopping(about) {
    const client = clientOf(about, { maxRetries: 2 })
    for (const ms of [300, 900]) {
      await client.chat.completions
        .create({ model: MODEL, messages: [{ role: 'user', content: 'weather' }] }, { signal: AbortSignal.timeout(ms) })
        .catch(() => {})
    }
  },
  /** Half of its sessions take no failure seriously. */
  async mixed(about, number) {
    const one = async (index: number) => {
      const client = clientOf(about, { apiKey: `session:worker-${index}`, maxRetries: index % 2 === 0 ? 3 : 0 })
      await ask(client, 'weather').catch(() => {})
    }
    await Promise.all(upTo(number).map(one))
  },
}

export const openai = (how = '', number = '1'): Program => {
  const behave = behaviorOf(behaviors, how)
  return (about) => behave(about, Number(number)).then(() => {})
}
