// The records in a workspace response, for faults of the workspace.
import type { Reply } from '../contract/core/reply.ts'
import { isObject, type JsonObject } from '../lib/values.ts'

/** A page of a list. */
export interface RecordPage extends JsonObject {
  data: JsonObject[]
}

/** Whether a response value is a list. */
export const isPage = (value: unknown): value is RecordPage =>
  isObject(value) && value.object === 'list' && Array.isArray(value.data)

/** The records of a response: the items of a list, or the single record. */
export function recordsOf({ body }: Reply): JsonObject[] {
  if (body.kind !== 'value' || !isObject(body.value)) return []
  return isPage(body.value) ? body.value.data : [body.value]
}

/** The reply with each record changed. */
export function mapRecords(reply: Reply, change: (record: JsonObject) => JsonObject): Reply {
  const { body } = reply
  if (body.kind !== 'value' || !isObject(body.value)) return reply
  const { value } = body
  return {
    ...reply,
    body: { kind: 'value', value: isPage(value) ? { ...value, data: value.data.map(change) } : change(value) },
  }
}
