// Nests faults around a call: the first is outermost, and each one wraps the next.
import type { FaultPassage, NextReply } from '../contract/core/fault.ts'
import type { StreamRules } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import { unpacked } from '../faults/wire.ts'

/** What a fault receives for one call, including the response format of its client. */
interface RulePassage extends Omit<FaultPassage, 'form'> {
  words?: string | undefined
  /** The rules for streams of that format, if they differ from the operation's. */
  events?: StreamRules | undefined
}

/** A fault of a rule for one attempt or call. */
export interface RuleFault {
  /** The `inAnswer` of its fault type. */
  inAnswer: boolean
  apply(next: NextReply, passage: RulePassage): Promise<Reply>
}

/**
 * The reply through faults. With a form, faults that change the content of a response apply before the conversion, all others after it.
 * @throws ConnectionFailure if a fault ends the connection, and what `next` throws.
 */
export function replyThroughFaults(
  faults: readonly RuleFault[],
  { form, ...passage }: FaultPassage,
  next: NextReply,
): Promise<Reply> {
  if (!form) return nested(faults, passage, next)
  const { words, events } = form
  const contentFaults = faults.filter(({ inAnswer }) => inAnswer)
  const transportFaults = faults.filter(({ inAnswer }) => !inAnswer)
  const changed = () => nested(contentFaults, { ...passage, words }, next)
  const put = async () => form.put(contentFaults.length > 0 ? await unpacked(await changed()) : await next())
  return nested(transportFaults, { ...passage, words, events }, put)
}

const nested = (faults: readonly RuleFault[], passage: RulePassage, next: NextReply): Promise<Reply> =>
  faults.reduceRight<NextReply>((inner, fault) => () => fault.apply(inner, passage), next)()
