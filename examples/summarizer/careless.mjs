// The same with two common mistakes: no timeout for silence, and a truncated stream counts as complete.
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env

export async function summaryOf(text) {
  const response = await fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-4o-mini', stream: true, messages: [{ role: 'user', content: text }] }),
  })
  if (!response.ok) return { summary: '', complete: false }
  let written = ''
  try {
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) written += piece
  } catch {}
  const summary = [...written.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join('')
  return { summary, complete: true }
}
