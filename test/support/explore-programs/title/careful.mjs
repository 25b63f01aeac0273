import OpenAI from 'openai'

export async function titleOf({ openai }, article) {
  const client = new OpenAI({ ...openai, timeout: 1_000, maxRetries: 2 })
  for (let tries = 1; tries <= 2; tries++) {
    const answer = await ask(client, article)
    const choice = answer?.choices?.[0]
    if (choice?.finish_reason === 'content_filter') throw new Error('the title was filtered')
    if (choice?.message.content) return choice.message.content
  }
  throw new Error('the response was empty')
}

const ask = async (client, article) => {
  try {
    return await client.chat.completions.create({
      model: 'openai/gpt-4o-mini',
      messages: [{ role: 'user', content: `A title for this article: ${article}` }],
    })
  } catch (error) {
    // The SDK repeats failed calls, but not those whose response is no JSON.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
