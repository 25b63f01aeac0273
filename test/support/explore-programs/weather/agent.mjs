// An agent with a tool that has no side effect.
import OpenAI from 'openai'
import { again, lasting } from '../again.mjs'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather of a city.', parameters } }]

export async function answerWith({ openai }, act, question) {
  const client = new OpenAI({ ...openai, timeout: 1_000, maxRetries: 0 })
  const messages = [{ role: 'user', content: question }]
  for (let turn = 0; turn < 4; turn++) {
    const message = await again(() => ask(client, messages, turn === 0 ? 'required' : 'auto'))
    messages.push(message)
    if (!message.tool_calls?.length) return message.content
    for (const call of message.tool_calls)
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(act(call.function.arguments)) })
  }
  throw new Error('the model does not come to an end')
}

async function ask(client, messages, tool_choice) {
  const answer = await client.chat.completions.create({ model: 'openai/gpt-4o', messages, tools, tool_choice })
  const choice = answer?.choices?.[0]
  if (choice?.finish_reason === 'content_filter') throw lasting('the response was filtered')
  if (!choice?.message.content && !choice?.message.tool_calls?.length) throw new Error('the response was empty')
  return choice.message
}
