// Whether a provider would accept the conversation in a request: the modes, and the record in a trace.
import { z } from 'zod'
import type { JsonObject } from '../../lib/values.ts'

/** A request that its provider rejects, or would reject, in the record of an attempt. */
export const HistoryRecord = z.object({
  rule: z.string().describe('Name of the rule, as in the reference.'),
  rejected: z
    .boolean()
    .describe(
      'Whether the request was rejected. False in lenient mode and for forwarded calls, which the provider decides.',
    ),
  status: z.int().describe('Status of the rejection.'),
  message: z.string().describe("The provider's message."),
  path: z.string().describe('Path of the offending message or item in the request.'),
  ids: z.array(z.string()).describe('Offending ids, such as those of tool calls.'),
  traces: z.array(z.string()).describe('Traces of the earlier calls whose responses contain these ids.'),
  source: z.string().describe('URL of the documentation or report that the rule is based on.'),
  hint: z.string().describe('How to accept such requests.'),
})
export type HistoryRecord = z.infer<typeof HistoryRecord>

/** What is known about earlier responses, to which a request may refer. */
export interface EarlierResponses {
  /** The id of the response that the request continues, if that is not stored. */
  readonly missing: string | undefined
  /** Ids of the tool calls of the response that the request continues; undefined if it continues none. */
  readonly openCalls: readonly string[] | undefined
  /** Whether the continued conversation already contains a call with this id. */
  wasCalled(id: string): boolean
  /**
   * The items of a response by the id of one of them: the stored ones, or `unstored` if they cannot have been stored:
   * this server did not create it, or the client disabled storage. Undefined if it may have been dropped.
   */
  itemsBeside(id: string): readonly JsonObject[] | 'unstored' | undefined
  /** Whether a response may have been stored here, and dropped since. */
  mayHaveStored(id: string): boolean
  /** Whether the encrypted content of a reasoning item certainly differs from what this server sent. */
  isChanged(id: string, encrypted: string): boolean
}

/** The conversation of a request, in the form of its API. */
export type ModelConversation =
  | { form: 'chat'; messages: readonly unknown[] }
  | { form: 'responses'; items: readonly unknown[]; earlier: EarlierResponses }
  | { form: 'messages'; messages: readonly unknown[] }
