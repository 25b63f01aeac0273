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
