// Summarizes a text in a stream, using only fetch. It never presents an incomplete summary as complete.
const SILENCE_MS = 1_000
const TRIES = 3

const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env

export async function summaryOf(text) {
  let last
  for (let tries = 1; tries <= TRIES; tries++) {
    try {
      const summary = await once(text)
      if (summary !== '') return { summary, complete: true }
    } catch (error) {
      last = error
      if (error.final) break
      await new Promise((done) => setTimeout(done, error.wait ?? 200 * 2 ** tries))
    }
  }
  // Whoever reads the log sees why.
  console.error(`no summary: ${last ?? 'Error: the response was empty'}`)
  return { summary: '', complete: false }
}

async function once(text) {
  const patience = new AbortController()
  let timer = setTimeout(() => patience.abort(), SILENCE_MS)
  try {
    const response = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      signal: patience.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/gpt-4o-mini', stream: true, messages: [{ role: 'user', content: text }] }),
    })
    if (!response.ok) throw failure(response)
    let summary = ''
    let rest = ''
    let done = false
    let finish = null
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer)
      timer = setTimeout(() => patience.abort(), SILENCE_MS)
      const lines = (rest + piece).split('\n')
      rest = lines.pop()
      for (const line of lines) {
        if (line === 'data: [DONE]') done = true
        else if (line.startsWith('data: ')) {
          const { error, choices = [] } = JSON.parse(line.slice(6))
          if (error) throw new Error(error.message)
          summary += choices[0]?.delta?.content ?? ''
          finish = choices[0]?.finish_reason ?? finish
        }
      }
    }
    if (!done || finish !== 'stop') throw new Error('the stream broke off')
    return summary
  } finally {
    clearTimeout(timer)
  }
}

function failure({ status, headers }) {
  const wait = headers.has('retry-after') ? Number(headers.get('retry-after')) * 1_000 : undefined
  const final = status < 500 && status !== 429
  return Object.assign(new Error(`status ${status}`), { final, wait })
}
