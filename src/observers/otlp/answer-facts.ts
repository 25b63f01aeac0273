// What spans say of a request and of its answer beside the trace: numbers and ids, and nothing that anybody has written.
import { remembering } from '../../lib/remember.ts'
import { GEN_AI, REQUEST_PARAMETERS } from './conventions.ts'
import { doubleAttribute, intAttribute, textAttribute, textsAttribute } from './json.ts'

type Fields = Readonly<Record<string, unknown>>
const WRITTEN = { int: intAttribute, double: doubleAttribute } as const

/** Attributes of what a request asks of the model. */
export function parameterAttributes(request: object | undefined): string {
  if (request === undefined) return ''
  let attributes = ''
  for (const { fields, name, as } of REQUEST_PARAMETERS) {
    for (const field of fields) {
      const value = (request as Fields)[field]
      if (value == null) continue
      const attribute = attributeOf(name, as, value)
      if (attribute !== undefined) attributes = attributes === '' ? attribute : `${attributes},${attribute}`
      break
    }
  }
  return attributes
}

function attributeOf(name: string, as: 'text' | keyof typeof WRITTEN, value: unknown): string | undefined {
  if (as === 'text') return typeof value === 'string' ? textAttribute(name, value) : undefined
  return typeof value === 'number' ? WRITTEN[as](name, value) : undefined
}

/** The id of an answer, and why it ended. */
export interface AnswerFacts {
  id?: string | undefined
  /** As an attribute. */
  finishReasons?: string | undefined
}

/** What an answer says of itself. */
export function answerFacts(answer: unknown): AnswerFacts {
  if (typeof answer !== 'object' || answer === null) return {}
  const { id, choices, status } = answer as Fields
  const [first, ...others] = Array.isArray(choices)
    ? choices.map((choice: Fields | null) => choice?.finish_reason)
    : [status]
  const only = others.length === 0 && typeof first === 'string'
  return {
    id: typeof id === 'string' ? id : undefined,
    finishReasons: only ? reasonAttribute(first) : reasonsAttribute([first, ...others]),
  }
}

const reasonAttribute = remembering((reason: string) => textsAttribute(GEN_AI.finishReasons, [reason]))

function reasonsAttribute(reasons: readonly unknown[]): string | undefined {
  const texts = reasons.filter((reason): reason is string => typeof reason === 'string')
  return texts.length === 0 ? undefined : textsAttribute(GEN_AI.finishReasons, texts)
}
