// A program that calls with Anthropic's package, and behaves as its first argument says.
import Anthropic from '@anthropic-ai/sdk'
import { upTo } from './surroundings.ts'

const ask = (client: Anthropic) =>
  client.messages.create({
    model: 'claude-sonnet-4',
    max_tokens: 50,
    messages: [{ role: 'user', content: 'weather' }],
  })

const behaviours: Record<string, () => Promise<unknown>> = {
  /** As the package is by itself: it waits as it is told. */
  standard: () => ask(new Anthropic()),
  /** Asks again at once, whatever it is told. */
  async impatient() {
    const client = new Anthropic({ maxRetries: 0 })
    for (const _ of upTo(3)) {
      const answer = await ask(client).catch(() => undefined)
      if (answer) return
    }
  },
  /** Takes half a stream for the whole. */
  async swallower() {
    const client = new Anthropic({ maxRetries: 0 })
    const stream = client.messages.stream({
      model: 'claude-sonnet-4',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'weather' }],
    })
    await stream.finalMessage().catch(() => {})
  },
}

const [how = ''] = process.argv.slice(2)
const behave = behaviours[how]
if (!behave) throw new Error(`no behaviour ${how}`)
await behave()
