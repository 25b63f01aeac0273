// With fetch alone, so that a process has little to load. The mistakes: no retries, and a stream that breaks off counts as complete.
export async function noticeOf({ openai: { baseURL, apiKey, fetch } }, event) {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o',
      stream: true,
      messages: [{ role: 'user', content: `A notice of ${event}.` }],
    }),
  })
  if (!response.ok) throw new Error(`status ${response.status}`)
  let read = ''
  try {
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) read += piece
  } catch {}
  const events = read.split('\n').filter((line) => line.startsWith('data: {'))
  return events.map((line) => JSON.parse(line.slice(6)).choices[0]?.delta.content ?? '').join('')
}
