// The program: streams a story, and reports when the stream is truncated.
import type OpenAI from 'openai'

/** A story, as far as it came. */
export interface Story {
  text: string
  complete: boolean
}

/** Asks for a story; `onPiece` hears each piece as it comes. */
export async function tellStory(client: OpenAI, onPiece: (piece: string) => void = () => {}): Promise<Story> {
  const stream = await client.chat.completions.create({
    model: 'gpt-4o',
    stream: true,
    messages: [{ role: 'user', content: 'Tell me a long story' }],
  })
  const story = { text: '', complete: false }
  try {
    for await (const { choices } of stream) {
      const piece = choices[0]?.delta.content ?? ''
      story.text += piece
      onPiece(piece)
      if (choices[0]?.finish_reason === 'stop') story.complete = true
    }
  } catch {
    // What there is, is told; that it is no whole story, too.
  }
  return story
}
