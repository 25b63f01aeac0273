// The registry of router operations: one line each.
import type { Operation } from '../contract/operation.ts'
import { audioTranslations } from './audio-translations.ts'
import { chatCompletions } from './chat-completions.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { images } from './images.ts'
import { responses } from './responses.ts'

// Each operation is typed over its own request; the registry holds them as what they have in common.
export const operations = [
  chatCompletions,
  responses,
  completions,
  images,
  embeddings,
  audioTranslations,
] as unknown as readonly Operation[]
