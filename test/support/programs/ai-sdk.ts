// A program that calls with the AI SDK, and behaves as its first argument says.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, streamText } from 'ai'
import { API_KEY, BASE_URL, say, upTo } from './surroundings.ts'

const provider = createOpenAI({ baseURL: BASE_URL, apiKey: API_KEY })
const chat = provider.chat('openai/gpt-4o')

const behaviours: Record<string, (number: number) => Promise<unknown>> = {
  async chat() {
    say((await generateText({ model: chat, prompt: 'Hello!' })).text)
  },
  /** What `openai()` calls by itself: model responses. */
  async responses() {
    say((await generateText({ model: provider('openai/gpt-4o'), prompt: 'Hello!' })).text)
  },
  async equal(number) {
    await Promise.all(upTo(number).map(() => generateText({ model: chat, prompt: 'weather', maxRetries: 4 })))
  },
  async sessions(number) {
    const one = (index: number) => {
      const own = createOpenAI({ baseURL: BASE_URL, apiKey: `session:worker-${index}` })
      return generateText({ model: own.chat('openai/gpt-4o'), prompt: 'weather', maxRetries: 4 })
    }
    await Promise.all(upTo(number).map(one))
  },
  async stream() {
    const { textStream } = streamText({ model: chat, prompt: 'Hello!' })
    let text = ''
    for await (const part of textStream) text += part
    say(text)
  },
}

const [how = '', number = '1'] = process.argv.slice(2)
const behave = behaviours[how]
if (!behave) throw new Error(`no behaviour ${how}`)
await behave(Number(number))
