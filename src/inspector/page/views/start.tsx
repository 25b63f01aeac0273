// The start page: variables for an unchanged app, a test call, links, and a snippet for each client.
import { useState } from 'preact/hooks'
import { askJson, errorText, token } from '../state/api.ts'
import { here } from '../state/route.ts'
import { Icon } from '../ui/icons.tsx'
import { Block, Code, CopyButton, Tabs } from '../ui/layout.tsx'

type Text = (where: { url: string; key: string }) => string

/** All snippets; `url` is that of the server, `key` the token. */
const SNIPPETS: readonly { id: string; label: string; text: Text }[] = [
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

/** Environment variables for an unchanged app, in shell syntax. */
const variablesOf = (key: string) => `# OpenAI SDKs
export OPENAI_BASE_URL=${location.origin}/v1
export OPENAI_API_KEY=${key}

# Anthropic SDKs
export ANTHROPIC_BASE_URL=${location.origin}
export ANTHROPIC_API_KEY=${key}`

const LINKS = [
  { href: '/docs/fixtures', label: 'Fixtures', about: 'Write the responses that your app receives.' },
  { href: '#/scenarios', label: 'Scenarios', about: 'Inject faults and see how your app handles them.' },
  { href: '/docs/', label: 'Documentation', about: 'Guides and reference. Works offline.' },
  { href: '/swagger', label: 'Swagger', about: 'Browse and call every operation.' },
] as const

/** The view. */
export function Start() {
  const [chosen, setChosen] = useState('curl')
  const session = here.value.params.get('session') ?? undefined
  const key = token.value !== '' ? token.value : session ? `session:${session}` : 'any'
  const variables = variablesOf(key)
  return (
    <div class="page start">
      <h1>Connect your app</h1>
      <section class="block">
        <header>
          <h2>1. Set these variables where your app runs</h2>
          <CopyButton text={() => variables} />
        </header>
        <Code text={variables} label="Environment variables" />
        <p>
          The SDKs of OpenAI and Anthropic read them, so your code stays as it is. Any key works unless the server was
          started with <code>--token</code>. To use a separate session, set the key to <code>session:name</code>.
        </p>
      </section>
      <section class="block">
        <h2>2. Run your app</h2>
        <p>Its calls appear on this page as they are made. To see one right away, send a test call.</p>
        <SendOne session={session} />
      </section>
      <section class="block">
        <h2>Next steps</h2>
        <ul class="links">
          {LINKS.map(({ href, label, about }) => (
            <li key={href}>
              <a href={href}>{label}</a> <span class="note">{about}</span>
            </li>
          ))}
        </ul>
      </section>
      <h2>Or set the address in code</h2>
      <Tabs
        label="Clients"
        chosen={chosen}
        onChoose={setChosen}
        tabs={SNIPPETS.map(({ id, label, text }) => ({
          id,
          label,
          show: () => {
            const snippet = text({ url: location.origin, key })
            return (
              <Block title={label} copy={() => snippet}>
                <Code text={snippet} label={`${label} snippet`} />
              </Block>
            )
          },
        }))}
      />
    </div>
  )
}

function SendOne({ session }: { session: string | undefined }) {
  const [state, setState] = useState('')
  const send = async () => {
    setState('Sending …')
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] }
    const sent = askJson('/v1/chat/completions', { method: 'POST', body, session })
    setState(await sent.then(() => 'Sent. It is the newest call in the list.', errorText))
  }
  return (
    <p class="actions">
      <button type="button" class="primary" onClick={send}>
        <Icon name="start" /> Send a test call
      </button>
      <output aria-live="polite">{state}</output>
    </p>
  )
}
