// A program with four calls, each with a deadline of 2 s. It makes a mistake: any failure starts its task again, also after the refund.
import OpenAI from 'openai'

const client = new OpenAI({ timeout: 2_000, maxRetries: 1 })
const model = 'openai/gpt-4o'
const FORMAT = {
  type: 'json_schema',
  json_schema: {
    name: 'complaint',
    strict: true,
    schema: {
      type: 'object',
      properties: { order: { type: 'string' }, justified: { type: 'boolean' } },
      required: ['order', 'justified'],
      additionalProperties: false,
    },
  },
}
const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'issue_refund',
      description: 'Pays the money for an order back.',
      parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
    },
  },
]

async function complaint(text) {
  const sorted = await client.chat.completions.create({
    model,
    response_format: FORMAT,
    messages: [
      { role: 'system', content: 'Sort the complaint.' },
      { role: 'user', content: text },
    ],
  })
  JSON.parse(sorted.choices[0].message.content)
  const messages = [{ role: 'user', content: `Decide: ${text}` }]
  const decided = await client.chat.completions.create({ model, messages, tools: TOOLS, tool_choice: 'required' })
  const { message } = decided.choices[0]
  messages.push(message)
  for (const call of message.tool_calls ?? [])
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify({ refunded: true }) })
  await client.chat.completions.create({ model, messages, tools: TOOLS, tool_choice: 'auto' })
  const stream = await client.chat.completions.create({
    model,
    stream: true,
    messages: [
      { role: 'system', content: 'Write to the customer.' },
      { role: 'user', content: text },
    ],
  })
  let letter = ''
  for await (const chunk of stream) letter += chunk.choices[0]?.delta.content ?? ''
  return letter
}

for (let tries = 1; ; tries++) {
  try {
    console.log((await complaint('The parcel of order 17 has not come.')).length > 0 ? 'a letter' : 'no letter')
    break
  } catch (error) {
    console.error(String(error))
    if (tries === 2) process.exit(1)
  }
}
