// The registry of router operations, one line each. An operation is loaded with its schemas at first use.
import { type FixtureSubject, TOOL_CALLS } from '../contract/core/fixture-subject.ts'
import type { Operation } from '../contract/core/operation.ts'
import { COUNT_TOKENS, COUNT_TOKENS_PATH } from '../contract/core/token-count.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'

/** A router operation with its name and path. */
export interface Endpoint {
  name: string
  path: string
  operation(): Operation
}

// Each operation has its own request type; the registry uses the common one.
function endpoint(name: string, load: () => Operation, path = `/v2/router/${name.replaceAll('.', '/')}`): Endpoint {
  return { name, path, operation: once(load) }
}

// Loaded at first use.
const modules = {
  chatCompletions: lazy<typeof import('./chat-completions.ts')>(() => require('./chat-completions.ts')),
  responses: lazy<typeof import('./responses.ts')>(() => require('./responses.ts')),
  completions: lazy<typeof import('./completions.ts')>(() => require('./completions.ts')),
  images: lazy<typeof import('./images.ts')>(() => require('./images.ts')),
  embeddings: lazy<typeof import('./embeddings.ts')>(() => require('./embeddings.ts')),
  audioTranslations: lazy<typeof import('./audio-translations.ts')>(() => require('./audio-translations.ts')),
  audioSpeech: lazy<typeof import('./audio-speech.ts')>(() => require('./audio-speech.ts')),
  imageEdits: lazy<typeof import('./image-edits.ts')>(() => require('./image-edits.ts')),
  moderations: lazy<typeof import('./moderations.ts')>(() => require('./moderations.ts')),
  rerank: lazy<typeof import('./rerank.ts')>(() => require('./rerank.ts')),
  countTokens: lazy<typeof import('./count-tokens.ts')>(() => require('./count-tokens.ts')),
  toolFixture: lazy<typeof import('../contract/core/tool-fixture.ts')>(() =>
    require('../contract/core/tool-fixture.ts'),
  ),
}

/** All router operations, in the order in which documents list them. */
export const endpoints: readonly Endpoint[] = [
  endpoint('chat.completions', () => modules.chatCompletions().chatCompletions),
  endpoint('responses', () => modules.responses().responses),
  endpoint('completions', () => modules.completions().completions),
  endpoint('images.generations', () => modules.images().images),
  endpoint('embeddings', () => modules.embeddings().embeddings),
  endpoint('audio.translations', () => modules.audioTranslations().audioTranslations),
  endpoint('audio.transcriptions', () => modules.audioTranslations().audioTranscriptions),
  endpoint('audio.speech', () => modules.audioSpeech().audioSpeech),
  endpoint('images.edits', () => modules.imageEdits().imageEdits),
  endpoint('images.variations', () => modules.imageEdits().imageVariations),
  endpoint('moderations', () => modules.moderations().moderations),
  endpoint('rerank', () => modules.rerank().rerank),
]

/** Counts the tokens of a message. It belongs to Anthropic's API, not to the router. */
export const countEndpoint = endpoint(COUNT_TOKENS, () => modules.countTokens().tokenCount, COUNT_TOKENS_PATH)
const called: readonly Endpoint[] = [...endpoints, countEndpoint]

/** The names of all operations that clients call, including those of compatible APIs. */
export const operationNames = (): string[] => called.map(({ name }) => name)

/** The operation with that name, loaded. */
export const operationNamed = (name: string): Operation | undefined =>
  called.find((endpoint) => endpoint.name === name)?.operation()

/** All operations, loaded. */
export const allOperations = once((): readonly Operation[] => endpoints.map(({ operation }) => operation()))

const toolCalls = () => modules.toolFixture().toolCalls

/** Everything that fixtures respond to, each loaded when a fixture for it is read. */
export const fixtureSubjects: readonly FixtureSubject[] = [
  ...endpoints.map(({ name, operation }) => ({
    name,
    get script() {
      return operation().script
    },
  })),
  {
    name: TOOL_CALLS,
    get script() {
      return toolCalls().script
    },
    get errorScript() {
      return toolCalls().errorScript
    },
    get match() {
      return toolCalls().match
    },
    templateNames: [],
  },
]
