// The registry of router operations: one line each. An operation is loaded with its schemas when it is first used.
import { type FixtureSubject, TOOL_CALLS } from '../contract/fixture-subject.ts'
import type { Operation } from '../contract/operation.ts'
import { COUNT_TOKENS, COUNT_TOKENS_PATH } from '../contract/token-count.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'

/** A router operation by its name and its path. */
export interface Endpoint {
  name: string
  path: string
  operation(): Operation
}

// Each operation is typed over its own request; the registry holds them as what they have in common.
const endpoint = (name: string, path: string, load: () => Operation): Endpoint => ({
  name,
  path,
  operation: lazy(load),
})

/** All router operations, in the order in which documents list them. */
export const endpoints: readonly Endpoint[] = [
  endpoint('chat.completions', '/v2/router/chat/completions', () => require('./chat-completions.ts').chatCompletions),
  endpoint('responses', '/v2/router/responses', () => require('./responses.ts').responses),
  endpoint('completions', '/v2/router/completions', () => require('./completions.ts').completions),
  endpoint('images.generations', '/v2/router/images/generations', () => require('./images.ts').images),
  endpoint('embeddings', '/v2/router/embeddings', () => require('./embeddings.ts').embeddings),
  endpoint(
    'audio.translations',
    '/v2/router/audio/translations',
    () => require('./audio-translations.ts').audioTranslations,
  ),
  endpoint(
    'audio.transcriptions',
    '/v2/router/audio/transcriptions',
    () => require('./audio-transcriptions.ts').audioTranscriptions,
  ),
  endpoint('audio.speech', '/v2/router/audio/speech', () => require('./audio-speech.ts').audioSpeech),
  endpoint('images.edits', '/v2/router/images/edits', () => require('./image-edits.ts').imageEdits),
  endpoint('images.variations', '/v2/router/images/variations', () => require('./image-edits.ts').imageVariations),
  endpoint('moderations', '/v2/router/moderations', () => require('./moderations.ts').moderations),
  endpoint('rerank', '/v2/router/rerank', () => require('./rerank.ts').rerank),
]

/** Counts the tokens of a message; not of the router, but of Anthropic's API alone. */
export const countEndpoint = endpoint(COUNT_TOKENS, COUNT_TOKENS_PATH, () => require('./count-tokens.ts').tokenCount)
const called: readonly Endpoint[] = [...endpoints, countEndpoint]

/** The names of all operations that clients call, of the router and of compatible APIs alone. */
export const operationNames = (): string[] => called.map(({ name }) => name)

/** The operation of a name, loaded. */
export const operationNamed = (name: string): Operation | undefined =>
  called.find((endpoint) => endpoint.name === name)?.operation()

/** All operations, loaded. */
export const allOperations = once((): readonly Operation[] => endpoints.map(({ operation }) => operation()))

/** A subject of fixtures, loaded when one of them is read. */
function subject(name: string, load: () => FixtureSubject): FixtureSubject {
  return {
    name,
    get script() {
      return load().script
    },
    get errorScript() {
      return load().errorScript
    },
    get match() {
      return load().match
    },
    get templateNames() {
      return load().templateNames
    },
  }
}
const toolCalls = lazy<FixtureSubject>(() => require('../contract/tool-fixture.ts').toolCalls)

/** Everything that fixtures answer. */
export const fixtureSubjects: readonly FixtureSubject[] = [
  ...endpoints.map(({ name, operation }) => subject(name, operation)),
  subject(TOOL_CALLS, toolCalls),
]
