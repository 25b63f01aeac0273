// A program that calls with Anthropic's package, and behaves as its first argument says.
import Anthropic from '@anthropic-ai/sdk'
import { behaviorOf, connectionOf, type Program, upTo } from './surroundings.ts'

const QUESTION = {
  model: 'claude-sonnet-4',
  max_tokens: 50,
  messages: [{ role: 'user' as const, content: 'weather' }],
}

const behaviors: Record<string, Program> = {
  /** As the package is by itself: it waits as it is told. */
  standard: (about) => new Anthropic(connectionOf(about).anthropic).messages.create(QUESTION).then(() => {}),
  /** Asks again at once, whatever it is told. */
  async impatient(about) {
    const client = new Anthropic({ maxRetries: 0, ...connectionOf(about).anthropic })
    for (const _ of upTo(3)) {
      const answer = await client.messages.create(QUESTION).catch(() => undefined)
      if (answer) return
    }
  },
  /** Takes half a stream for the whole. */
  async swallower(about) {
    const client = new Anthropic({ maxRetries: 0, ...connectionOf(about).anthropic })
    await client.messages
      .stream(QUESTION)
      .finalMessage()
      .catch(() => {})
  },
}

export const anthropic = (how = ''): Program => behaviorOf(behaviors, how)
