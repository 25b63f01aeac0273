// Client snippets, ready to paste.

type Text = (where: { url: string; key: string }) => string

/** All snippets; `url` is that of the server, `key` the token. */
export const SNIPPETS: readonly { id: string; label: string; text: Text }[] = [
  {
    id: 'curl',
    label: 'curl',
    text: ({ url, key }) => `curl ${url}/v1/chat/completions \\
  -H 'authorization: Bearer ${key}' \\
  -H 'content-type: application/json' \\
  -d '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello!"}]}'`,
  },
  {
    id: 'openai',
    label: 'OpenAI SDK',
    text: ({ url, key }) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${url}/v1', apiKey: '${key}' })
const completion = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(completion.choices[0].message.content)`,
  },
  {
    id: 'anthropic',
    label: 'Anthropic SDK',
    text: ({ url, key }) => `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${url}', apiKey: '${key}' })
const message = await client.messages.create({
  model: 'claude-sonnet-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(message.content[0].text)`,
  },
  {
    id: 'ai-sdk',
    label: 'AI SDK',
    text: ({ url, key }) => `import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const openai = createOpenAI({ baseURL: '${url}/v1', apiKey: '${key}' })
const { text } = await generateText({ model: openai('gpt-4o'), prompt: 'Hello!' })
console.log(text)`,
  },
  {
    id: 'langchain',
    label: 'LangChain',
    text: ({ url, key }) => `import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: 'gpt-4o',
  apiKey: '${key}',
  configuration: { baseURL: '${url}/v1' },
})
console.log((await model.invoke('Hello!')).content)`,
  },
  {
    id: 'python',
    label: 'Python',
    text: ({ url, key }) => `from openai import OpenAI

client = OpenAI(base_url="${url}/v1", api_key="${key}")
completion = client.chat.completions.create(
    model="gpt-4o",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(completion.choices[0].message.content)`,
  },
]
