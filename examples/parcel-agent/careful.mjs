// An agent with one tool: it books a courier when the model asks for it, and only once, whatever calls fail.
import { TOOLS } from './tools.mjs'

const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env
const TRIES = 3

/** @param book what the tool does: it costs money */
export async function answerOf(question, book) {
  const messages = [{ role: 'user', content: question }]
  for (let turn = 0; turn < 4; turn++) {
    const message = await ask(messages, turn === 0)
    if (!message) return 'Somebody will call you back.'
    messages.push(message)
    if (!message.tool_calls?.length) return message.content || 'Somebody will call you back.'
    for (const call of message.tool_calls) {
      const result = await run(call.function, book)
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) })
    }
  }
  return 'Somebody will call you back.'
}

async function run({ arguments: text }, book) {
  try {
    const { street } = JSON.parse(text)
    if (typeof street !== 'string') return { error: 'street must be a text' }
    return { booked: await book(street) }
  } catch {
    return { error: 'the arguments are no JSON' }
  }
}

/** One call of the model is repeated by itself: what was done before it stays done. */
async function ask(messages, mustCall) {
  let last
  for (let tries = 1; tries <= TRIES; tries++) {
    try {
      const response = await fetch(`${base}/chat/completions`, {
        method: 'POST',
        signal: AbortSignal.timeout(1_500),
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'openai/gpt-4o',
          messages,
          tools: TOOLS,
          tool_choice: mustCall ? 'required' : 'auto',
        }),
      })
      if (response.ok) {
        const { message, finish_reason: reason } = (await response.json()).choices[0]
        if (reason !== 'content_filter') return message
        last = 'Error: content filter'
      } else {
        last = `Error: status ${response.status}`
        if (response.status < 500 && response.status !== 429) break
      }
      const wait = Number(response.headers.get('retry-after') ?? 0) * 1_000
      await new Promise((done) => setTimeout(done, wait || 200 * 2 ** tries))
    } catch (error) {
      last = error
      await new Promise((done) => setTimeout(done, 200 * 2 ** tries))
    }
  }
  // Whoever reads the log sees why.
  console.error(`no answer of the model: ${last}`)
  return undefined
}
