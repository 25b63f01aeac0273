// The registry of router operations: one line each. An operation is loaded with its schemas when it is first used.
import type { FixtureSubject } from '../contract/fixture-subject.ts'
import type { Operation } from '../contract/operation.ts'
import { toolCalls } from '../contract/tool-fixture.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'

/** A router operation by its path. */
export interface Endpoint {
  path: string
  operation(): Operation
}

// Each operation is typed over its own request; the registry holds them as what they have in common.
const endpoint = (path: string, load: () => Operation): Endpoint => ({ path, operation: lazy(load) })

/** All router operations, in the order in which documents list them. */
export const endpoints: readonly Endpoint[] = [
  endpoint('/v2/router/chat/completions', () => require('./chat-completions.ts').chatCompletions),
  endpoint('/v2/router/responses', () => require('./responses.ts').responses),
  endpoint('/v2/router/completions', () => require('./completions.ts').completions),
  endpoint('/v2/router/images/generations', () => require('./images.ts').images),
  endpoint('/v2/router/embeddings', () => require('./embeddings.ts').embeddings),
  endpoint('/v2/router/audio/translations', () => require('./audio-translations.ts').audioTranslations),
]

/** All operations, loaded. */
export const allOperations = once((): readonly Operation[] => endpoints.map(({ operation }) => operation()))

/** Everything that fixtures answer. */
export const fixtureSubjects = once((): readonly FixtureSubject[] => [...allOperations(), toolCalls])
