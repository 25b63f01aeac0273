// The same with a common mistake: any failure starts the task again, so the courier is booked twice.
import { TOOLS } from './tools.mjs'

const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env

export async function answerOf(question, book) {
  for (let tries = 1; ; tries++) {
    try {
      return await conversation(question, book)
    } catch (error) {
      if (tries === 3) {
        console.error(`no answer of the model: ${error}`)
        return 'Somebody will call you back.'
      }
      await new Promise((done) => setTimeout(done, 1_100))
    }
  }
}

async function conversation(question, book) {
  const messages = [{ role: 'user', content: question }]
  for (let turn = 0; turn < 4; turn++) {
    const response = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      signal: AbortSignal.timeout(1_500),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'openai/gpt-4o',
        messages,
        tools: TOOLS,
        tool_choice: turn === 0 ? 'required' : 'auto',
      }),
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const { message } = (await response.json()).choices[0]
    messages.push(message)
    if (!message.tool_calls?.length) return message.content
    for (const call of message.tool_calls) {
      const booked = await book(JSON.parse(call.function.arguments).street)
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify({ booked }) })
    }
  }
  throw new Error('the model does not come to an end')
}
