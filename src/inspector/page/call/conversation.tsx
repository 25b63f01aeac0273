// The texts of a call's prompt and response, next to its timeline.
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { promptSayings, responseSayings, type Saying } from '../../../views/sayings.ts'
import { countedText } from '../state/format.ts'
import { Region } from '../ui/layout.tsx'
import { Sayings } from './response.tsx'

/** Maximum number of texts of a prompt, and characters of each; the tabs show the rest. */
const [MAX_SAYINGS, MAX_LENGTH] = [12, 4_000]

/** The prompt and the response. */
export function Conversation({ trace: { request, rendered, response: answer, error } }: { trace: StoredTrace }) {
  const prompt = promptSayings(rendered ?? request)
  const response = answer === null ? [] : responseSayings(answer)
  return (
    <div class="conversation">
      <Texts title="Prompt" sayings={prompt.slice(-MAX_SAYINGS)} none="The request contains no text." />
      {prompt.length > MAX_SAYINGS && (
        <p class="note">{countedText(prompt.length - MAX_SAYINGS, 'earlier message')} in the Request tab.</p>
      )}
      <Texts
        title="Response"
        sayings={response}
        none={error === null ? 'The response contains no text.' : 'The call failed without a complete response.'}
      />
    </div>
  )
}

function Texts({ title, sayings, none }: { title: string; sayings: readonly Saying[]; none: string }) {
  const cut = sayings.map(({ role, text }) => ({
    role,
    text: text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text,
  }))
  return (
    <section class="block">
      <h3>{title}</h3>
      {cut.length === 0 ? (
        <p class="note">{none}</p>
      ) : (
        <Region class="texts" label={`${title} in brief`}>
          <Sayings title={`${title} texts`} sayings={cut} />
        </Region>
      )}
    </section>
  )
}
