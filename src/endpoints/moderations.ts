// POST /v2/router/moderations: flags harmful texts, using the word lists of the built-in guardrails.
import { countCached } from '../answers/text-answer.ts'
import type { AttemptContext, Operation, RenderedAnswer } from '../contract/core/operation.ts'
import {
  MODERATION_CATEGORIES,
  type ModerationCategory,
  ModerationList,
  ModerationRequest,
  ModerationScript,
} from '../contract/router/moderations.ts'
import { harmfulModeration } from '../guardrails/harmful-moderation.ts'
import { sexualModeration } from '../guardrails/sexual-moderation.ts'
import { chance } from '../lib/chance.ts'
import { asObject, objectsIn, sumOf } from '../lib/values.ts'
import { userPrompt, wholeAnswer, wholeOperation } from './common.ts'

/** The operation "Moderate texts", an extension, by the word lists of the built-in guardrails. */
export const moderations: Operation<ModerationRequest, ModerationScript> = {
  ...wholeOperation,
  name: 'moderations',
  path: '/v2/router/moderations',
  answerName: 'list of moderations',
  extension: true,
  summary: 'Moderate texts',
  description:
    'Flags each text by category. A fixture decides if one matches; otherwise, the English word lists of the built-in guardrails decide.',
  examples: {
    texts: { model: 'openai/omni-moderation-latest', input: ['A quiet day at the sea.', 'I will kill him.'] },
  },
  invalidStatus: 422,
  request: ModerationRequest,
  response: ModerationList,
  script: ModerationScript,
  prompt: (request) => userPrompt(textsOf(request).join('\n')),
  promptTokens: (request, count = countCached) => sumOf(textsOf(request), count),
  compose,
  wrongWith: (value) => (objectsIn(asObject(value)?.results).length > 0 ? undefined : "it has no 'results'"),
  scriptOf(answer) {
    const [first] = objectsIn(asObject(answer)?.results)
    if (!first) return undefined
    const flagged = Object.entries(asObject(first.categories) ?? {}).flatMap(([name, on]) =>
      on === true ? [name] : [],
    )
    return ModerationScript.safeParse({ flagged }).data
  },
}

/** The texts that are judged separately; content parts form one text. */
function textsOf({ input }: ModerationRequest): string[] {
  if (typeof input === 'string') return [input]
  const texts = input.filter((item) => typeof item === 'string')
  if (texts.length > 0) return texts
  return [input.flatMap((part) => (typeof part !== 'string' && part.type === 'text' ? [part.text] : [])).join('\n')]
}

/** Categories by topic of the word lists. */
const TOPICS: Record<string, readonly ModerationCategory[]> = {
  violence: ['violence'],
  weapons: ['illicit', 'illicit/violent'],
  'self-harm': ['self-harm'],
  hate: ['hate'],
  drugs: ['illicit'],
  crime: ['illicit'],
}
const OF_MINORS = 'the sexual abuse of minors'

function compose(
  request: ModerationRequest,
  script: ModerationScript,
  { model, answerContext: { id } }: AttemptContext,
): RenderedAnswer {
  const texts = textsOf(request)
  const tokens = sumOf(texts, countCached)
  const body = (): ModerationList => ({
    id: `modr-${id}`,
    model,
    results: texts.map((text) => resultOf(text, script.flagged ?? foundIn(text))),
  })
  return wholeAnswer({ prompt_tokens: tokens, total_tokens: tokens }, body)
}

function foundIn(text: string): ModerationCategory[] {
  const harmful = harmfulModeration.topicsIn([text]).flatMap((topic) => TOPICS[topic] ?? [])
  const sexual = sexualModeration.topicsIn([text])
  return [
    ...harmful,
    ...(sexual.length > 0 ? (['sexual'] as const) : []),
    ...(sexual.includes(OF_MINORS) ? (['sexual/minors'] as const) : []),
  ]
}

/** Scores like those of a confident model: near 1 when flagged, near 0 otherwise, the same for equal texts. */
function resultOf(text: string, flagged: readonly ModerationCategory[]): ModerationList['results'][number] {
  const each = <Value>(value: (category: ModerationCategory) => Value) =>
    Object.fromEntries(MODERATION_CATEGORIES.map((one) => [one, value(one)])) as Record<ModerationCategory, Value>
  const random = (category: string) => chance(0, text, category)
  return {
    flagged: flagged.length > 0,
    categories: each((category) => flagged.includes(category)),
    category_scores: each((category) =>
      flagged.includes(category) ? 0.9 + 0.099 * random(category) : 0.001 * random(category),
    ),
    category_applied_input_types: each(() => ['text']),
  }
}
