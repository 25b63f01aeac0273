// The conversation that a call for a response belongs to: its own input after that of the responses it continues.
import { ApiError } from '../../contract/error.ts'
import type { Keep, Kept } from '../../contract/kept.ts'
import type { Making } from '../../contract/operation.ts'
import type { InputItem, ResponsesRequest } from '../../contract/responses.ts'
import type { ModelResponse } from '../../contract/responses-answer.ts'

/** What is kept of a response: its own steps, and where those before them are. */
interface StoredResponse {
  previous: string | null
  items: InputItem[]
}
const KIND = 'response'

// The steps before the input travel with the request, under a key that no body can have.
const EARLIER = Symbol('earlier')
type Resolved = ResponsesRequest & { [EARLIER]?: readonly InputItem[] }

/** The steps that the body itself holds; a text is one user message. */
export const ownItems = ({ input }: ResponsesRequest): InputItem[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input

/** All steps, from the first response of the chain on. */
export const conversationOf = (request: Resolved): InputItem[] => [...(request[EARLIER] ?? []), ...ownItems(request)]

/** The id of a response's item: it tells the response, so that a reference to the item can be followed. */
export const itemId = (prefix: 'msg' | 'fc' | 'rs', call: string, index: number): string => `${prefix}_${call}_${index}`
const ITEM_ID = /^[a-z]+_([0-9A-HJKMNP-TV-Z]{26})_\d+$/

/** Id of the response that a call makes. */
export const responseId = (call: string): string => `resp_${call}`

/** The request with the conversation it continues; 404 when that is not stored. References to unknown items stand for nothing. */
export function resolve(request: ResponsesRequest, { kept, now }: Making): ResponsesRequest {
  const follow = (id: string): InputItem[] => {
    const stored = storedResponse(kept, responseId(ITEM_ID.exec(id)?.[1] ?? ''), now)
    return stored?.items.filter((item) => 'id' in item && item.id === id) ?? []
  }
  const input =
    typeof request.input === 'string'
      ? request.input
      : request.input.flatMap((item) => (item.type === 'item_reference' ? follow(item.id) : [item]))
  const resolved: Resolved = { ...request, input, [EARLIER]: earlierItems(request.previous_response_id, kept, now) }
  return resolved
}

const storedResponse = (kept: Kept, id: string, now: number) => kept.get(KIND, id, now) as StoredResponse | undefined

function earlierItems(previous: string | null | undefined, kept: Kept, now: number): InputItem[] {
  const responses: InputItem[][] = []
  for (let id = previous ?? null; id !== null; ) {
    const stored = storedResponse(kept, id, now)
    if (!stored) {
      const why = 'responses are kept per session, and those made with store: false are not kept'
      throw new ApiError(404, 'response_not_found', `there is no stored response ${JSON.stringify(id)}; ${why}`, {
        param: 'previous_response_id',
      })
    }
    responses.push(stored.items)
    id = stored.previous
  }
  return responses.reverse().flat()
}

/** What a response leaves for calls that continue it. */
export function keep(request: ResponsesRequest, answer: object): readonly Keep[] {
  const { id, status, output } = answer as ModelResponse
  if (request.store === false || (status !== 'completed' && status !== 'incomplete')) return []
  const items = [...ownItems(request), ...(output as InputItem[])]
  const value: StoredResponse = { previous: request.previous_response_id ?? null, items }
  return [{ kind: KIND, id, value }]
}
