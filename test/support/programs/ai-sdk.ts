// A program that calls with the AI SDK, and behaves as its first argument says.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, streamText } from 'ai'
import { behaviorOf, connectionOf, type Program, type Surroundings, upTo } from './surroundings.ts'

const MODEL = 'openai/gpt-4o'
const chatOf = (about: Surroundings, apiKey?: string) =>
  createOpenAI({ ...connectionOf(about).openai, ...(apiKey !== undefined && { apiKey }) }).chat(MODEL)

const behaviors: Record<string, (about: Surroundings, number: number) => Promise<unknown>> = {
  async chat(about) {
    about.say((await generateText({ model: chatOf(about), prompt: 'Hello!' })).text)
  },
  /** What `openai()` calls by itself: model responses. */
  async responses(about) {
    const provider = createOpenAI(connectionOf(about).openai)
    about.say((await generateText({ model: provider(MODEL), prompt: 'Hello!' })).text)
  },
  async equal(about, number) {
    const model = chatOf(about)
    await Promise.all(upTo(number).map(() => generateText({ model, prompt: 'weather', maxRetries: 4 })))
  },
  async sessions(about, number) {
    const one = (index: number) =>
      generateText({ model: chatOf(about, `session:worker-${index}`), prompt: 'weather', maxRetries: 4 })
    await Promise.all(upTo(number).map(one))
  },
  async stream(about) {
    const { textStream } = streamText({ model: chatOf(about), prompt: 'Hello!' })
    let text = ''
    for await (const part of textStream) text += part
    about.say(text)
  },
}

export const aiSdk = (how = '', number = '1'): Program => {
  const behave = behaviorOf(behaviors, how)
  return (about) => behave(about, Number(number)).then(() => {})
}
