// Model responses as LangChain requests and reads them.
import { afterAll, expect, test } from 'bun:test'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { model, responsesApp } from '../support/responses.ts'

const app = responsesApp()
afterAll(app.close)
const chat = new ChatOpenAI({
  model,
  apiKey: 'any',
  useResponsesApi: true,
  maxRetries: 0,
  configuration: { baseURL: 'http://localhost/v2/router', fetch: app.clientFetch },
})
const get_weather = tool(({ city }) => `17 degrees in ${city}`, {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
})

test('LangChain responses: return a text with its usage', async () => {
  const message = await chat.invoke('Say hi')
  expect(message.text).toBe('Hi there')
  expect(message.usage_metadata).toMatchObject({ input_tokens: 9, output_tokens: 2, total_tokens: 11 })
})

test('LangChain responses: stream a text in chunks', async () => {
  const chunks = await Array.fromAsync(await chat.stream('Say hi'))
  expect(chunks.map((chunk) => chunk.text).filter((text) => text !== '')).toEqual(['Hi', ' there'])
  expect(chunks.at(-1)?.usage_metadata ?? chunks.at(-2)?.usage_metadata).toMatchObject({ total_tokens: 11 })
})

test.each([true, false])('LangChain responses: call a tool and send its result (streamed: %p)', async (streamed) => {
  const bound = chat.bindTools([get_weather])
  const question = new HumanMessage('How is the weather?')
  const asked = streamed
    ? (await Array.fromAsync(await bound.stream([question]))).reduce((whole, chunk) => whole.concat(chunk))
    : await bound.invoke([question])
  expect(asked.tool_calls).toMatchObject([{ name: 'get_weather', args: { city: 'Utrecht' } }])
  const [made] = asked.tool_calls ?? []
  const result = new ToolMessage({ content: '17 degrees', tool_call_id: made?.id ?? '', name: 'get_weather' })
  expect((await bound.invoke([question, asked, result])).text).toBe('It is 17 degrees in Utrecht.')
})

test('LangChain responses: return structured output', async () => {
  const Person = z.object({ name: z.string(), age: z.int() })
  const structured = chat.withStructuredOutput(Person, { name: 'person', method: 'jsonSchema' })
  expect(await structured.invoke('Who is Ada?')).toEqual({ name: 'Ada', age: 36 })
  const made = await structured.invoke('Who is it?')
  expect(Person.parse(made)).toEqual(made)
})
