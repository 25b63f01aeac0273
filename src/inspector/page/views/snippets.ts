// How clients are pointed here, ready to paste.

/** A snippet of a client. */
export interface Snippet {
  id: string
  label: string
  text(where: { base: string; key: string }): string
}

/** The clients. */
export const SNIPPETS: readonly Snippet[] = [
  {
    id: 'curl',
    label: 'curl',
    text: ({ base, key }) => `curl ${base}/chat/completions \\
  -H 'authorization: Bearer ${key}' \\
  -H 'content-type: application/json' \\
  -d '{"model": "openai/gpt-4o", "messages": [{"role": "user", "content": "Hello!"}]}'`,
  },
  {
    id: 'openai',
    label: 'OpenAI SDK',
    text: ({ base, key }) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}', apiKey: '${key}' })
const completion = await client.chat.completions.create({
  model: 'openai/gpt-4o',
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(completion.choices[0].message.content)`,
  },
  {
    id: 'ai-sdk',
    label: 'AI SDK',
    text: ({ base, key }) => `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'

const gateway = createOpenAICompatible({ name: 'understudy', baseURL: '${base}', apiKey: '${key}' })
const { text } = await generateText({ model: gateway('openai/gpt-4o'), prompt: 'Hello!' })
console.log(text)`,
  },
  {
    id: 'langchain',
    label: 'LangChain',
    text: ({ base, key }) => `import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: 'openai/gpt-4o',
  apiKey: '${key}',
  configuration: { baseURL: '${base}' },
})
console.log((await model.invoke('Hello!')).content)`,
  },
  {
    id: 'python',
    label: 'Python',
    text: ({ base, key }) => `from openai import OpenAI

client = OpenAI(base_url="${base}", api_key="${key}")
completion = client.chat.completions.create(
    model="openai/gpt-4o",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(completion.choices[0].message.content)`,
  },
]
