// The program: a page with a question and an answer, and its server, which calls a model.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const PAGE = `<!doctype html><title>Ask</title>
<form><input name="question" aria-label="Question"><button>Ask</button></form><p role="status"></p>
<script>
  const form = document.querySelector('form')
  const status = document.querySelector('p')
  form.onsubmit = async (event) => {
    event.preventDefault()
    status.textContent = 'One moment ...'
    const answer = await fetch('/ask', { method: 'POST', body: form.question.value })
    status.textContent = answer.ok ? await answer.text() : 'Nobody can answer now. Please try again later.'
  }
</script>`

/** Where the models are. */
export interface Gateway {
  baseURL: string
  apiKey: string
}

/** Starts the program on a free port. */
export async function startApp({ baseURL, apiKey }: Gateway): Promise<{ url: string; stop(): void }> {
  const ask = async (question: string): Promise<string | undefined> => {
    const answer = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: question }] }),
    })
    return answer.ok ? (await answer.json()).choices[0].message.content : undefined
  }
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.setHeader('content-type', 'text/html').end(PAGE)
    let question = ''
    for await (const part of request) question += part
    const answer = await ask(question)
    if (answer === undefined) response.statusCode = 502
    return response.end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() }
}
