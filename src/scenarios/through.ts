// The one way through faults: the first of them is outermost, and each goes on to the next, the last to the call itself.
import type { FaultPassage, NextReply } from '../contract/core/fault.ts'
import type { StreamRules } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import { unpacked } from '../faults/wire.ts'

/** What a fault is told of the form in which its client reads responses. */
interface RulePassage extends Omit<FaultPassage, 'form'> {
  words?: string | undefined
  /** How streams of that form are understood, when that is not as the operation has it. */
  events?: StreamRules | undefined
}

/** A fault of a rule, ready for one attempt or call. */
export interface RuleFault {
  /** As its kind has it. */
  inAnswer: boolean
  apply(next: NextReply, passage: RulePassage): Promise<Reply>
}

/**
 * The reply through faults. With a form, those that change what a response says are inside of it, and all others outside.
 * @throws ConnectionFailure when a fault ends the connection, and what `next` throws.
 */
export function replyThroughFaults(
  faults: readonly RuleFault[],
  { form, ...passage }: FaultPassage,
  next: NextReply,
): Promise<Reply> {
  if (!form) return nested(faults, passage, next)
  const { words, events } = form
  const said = faults.filter(({ inAnswer }) => inAnswer)
  const sent = faults.filter(({ inAnswer }) => !inAnswer)
  const changed = () => nested(said, { ...passage, words }, next)
  const put = async () => form.put(said.length > 0 ? await unpacked(await changed()) : await next())
  return nested(sent, { ...passage, words, events }, put)
}

const nested = (faults: readonly RuleFault[], passage: RulePassage, next: NextReply): Promise<Reply> =>
  faults.reduceRight<NextReply>((inner, fault) => () => fault.apply(inner, passage), next)()
