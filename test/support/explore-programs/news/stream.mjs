// A stream of the Anthropic API, read with fetch alone.
export async function newsIn({ baseURL, apiKey, fetch }, day, signal, heard) {
  const response = await fetch(`${baseURL}/v1/messages`, {
    method: 'POST',
    ...(signal && { signal }),
    headers: { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'claude-sonnet-5-5',
      max_tokens: 500,
      stream: true,
      messages: [{ role: 'user', content: `The news of ${day}.` }],
    }),
  })
  if (!response.ok) {
    const { status, headers } = response
    throw Object.assign(new Error(`status ${status}`), { status, headers })
  }
  let [rest, text, reason, isDone] = ['', '', undefined, false]
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    heard()
    const lines = (rest + piece).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: ')) continue
      const event = JSON.parse(line.slice(6))
      if (event.type === 'error') throw new Error(event.error.message)
      text += event.delta?.text ?? ''
      reason = event.delta?.stop_reason ?? reason
      isDone ||= event.type === 'message_stop'
    }
  }
  if (!isDone || (text === '' && reason !== 'refusal')) throw new Error('the stream broke off')
  return { text, reason }
}
