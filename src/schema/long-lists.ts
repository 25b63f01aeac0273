// Validates bodies with very long lists in slices, so that other calls are answered in between.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { sliceEnd } from '../lib/slices.ts'
import { formatPath, parseRequest } from './validation.ts'

/** Items that are validated at once. */
const TOGETHER = 500

/** A schema, and its field that may have very many items, which its rules check one by one. */
interface LongListSchema<T> {
  schema: z.ZodObject & z.ZodType<T>
  field: string | undefined
  /** Status of an invalid body. */
  status?: number | undefined
}

/**
 * The parsed value, as `parseRequest` returns it.
 * @throws ApiError for the first invalid field
 */
export async function parseLongList<T>({ schema, field, status }: LongListSchema<T>, value: unknown): Promise<T> {
  const list = field === undefined ? undefined : (value as Record<string, unknown> | null)?.[field]
  const inner = field === undefined ? undefined : schema.shape[field]
  if (field === undefined || !inner || !Array.isArray(list) || list.length <= TOGETHER)
    return parseRequest(schema, value, { status })
  // The rest of the body is validated with the first items, the others by themselves.
  const first = parseRequest(schema, { ...(value as object), [field]: list.slice(0, TOGETHER) }, { status })
  const alone = z.object({ [field]: inner })
  const items = [...itemsIn(first, field)]
  let isSliceOver = sliceEnd()
  for (let at = TOGETHER; at < list.length; at += TOGETHER) {
    if (isSliceOver()) {
      await nextTurn()
      isSliceOver = sliceEnd()
    }
    const some = parseItems(alone, { field, at, list, status })
    for (const item of some) items.push(item)
  }
  return { ...first, [field]: items }
}

const itemsIn = (parsed: unknown, field: string): unknown[] => (parsed as Record<string, unknown[]>)[field] ?? []

/** Validates some of the items; problems have their index in the whole list. */
function parseItems(
  schema: z.ZodObject,
  { field, at, list, status }: { field: string; at: number; list: readonly unknown[]; status: number | undefined },
): unknown[] {
  try {
    return itemsIn(parseRequest(schema, { [field]: list.slice(at, at + TOGETHER) }, { status }), field)
  } catch (error) {
    throw error instanceof ApiError ? moved(error, field, at) : error
  }
}

function moved(error: ApiError, field: string, by: number): ApiError {
  const { param } = error
  const place = param === null ? null : /^\w+\[(\d+)\]/.exec(param)
  if (!param || !place) return error
  const whole = `${formatPath([field, Number(place[1]) + by])}${param.slice(place[0].length)}`
  return new ApiError(error.status, error.code, error.message.replace(`'${param}'`, `'${whole}'`), { param: whole })
}
