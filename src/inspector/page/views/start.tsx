// The start page: address, token, and a snippet for each client, and a test call.
import { useState } from 'preact/hooks'
import { Code } from '../call/json.tsx'
import { askJson, errorText, token } from '../state/api.ts'
import { here } from '../state/route.ts'
import { CopyButton } from '../ui/copy.tsx'
import { Icon } from '../ui/icons.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { SNIPPETS } from './snippets.ts'

/** The view. */
export function Start() {
  const [chosen, setChosen] = useState('curl')
  const session = here.value.params.get('session') ?? undefined
  const key = token.value !== '' ? token.value : session ? `session:${session}` : 'any'
  return (
    <div class="page start">
      <h1>Connect a client</h1>
      <p>
        Calls appear on this page as clients make them. Any token works unless the server was started with{' '}
        <code>--token</code>. To use a separate session, send <code>session:name</code> as the token.
      </p>
      <dl class="facts">
        {[
          ['OpenAI', `${location.origin}/v1`],
          ['Anthropic', location.origin],
          ['Gateway', `${location.origin}/v2/router`],
          ['Token', key],
        ].map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
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
              <section class="block">
                <header>
                  <h2>{label}</h2>
                  <CopyButton text={() => snippet} />
                </header>
                <Code text={snippet} label={`${label} snippet`} />
              </section>
            )
          },
        }))}
      />
      <SendOne session={session} />
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
