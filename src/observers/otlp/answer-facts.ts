// What spans say of a request and of its answer beside the trace: numbers and ids, and nothing that anybody has written.
import { REQUEST_PARAMETERS } from './conventions.ts'
import { doubleAttribute, intAttribute, textAttribute } from './json.ts'

type Fields = Readonly<Record<string, unknown>>
const WRITTEN = { int: intAttribute, double: doubleAttribute } as const

/** Attributes of what a request asks of the model. */
export function parameterAttributes(request: object | undefined): string[] {
  const attributes: string[] = []
  if (request === undefined) return attributes
  for (const { fields, name, as } of REQUEST_PARAMETERS) {
    for (const field of fields) {
      const value = (request as Fields)[field]
      if (value == null) continue
      if (as === 'text') {
        if (typeof value === 'string') attributes.push(textAttribute(name, value))
      } else if (typeof value === 'number') attributes.push(WRITTEN[as](name, value))
      break
    }
  }
  return attributes
}

/** The id of an answer, and why it ended. */
export function answerFacts(answer: unknown): { id?: string | undefined; finishReasons?: readonly string[] } {
  if (typeof answer !== 'object' || answer === null) return {}
  const { id, choices, status } = answer as Fields
  const reasons = Array.isArray(choices)
    ? choices.map((choice: Fields | null) => choice?.finish_reason)
    : [typeof status === 'string' ? status : undefined]
  return {
    id: typeof id === 'string' ? id : undefined,
    finishReasons: reasons.filter((reason): reason is string => typeof reason === 'string'),
  }
}
