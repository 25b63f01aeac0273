// Validates the rows of a snapshot before anything is replaced: an invalid one would be a bug later.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import type { Problem } from '../contract/core/problem.ts'
import { TraceRecord } from '../contract/core/trace.ts'
import { inSlices } from '../lib/slices.ts'
import { asObject } from '../lib/values.ts'
import { formatPath, problemsWith } from '../schema/validation.ts'
import { bodyProblem, type RecordShapes } from './record-shapes.ts'
import type { Snapshot } from './snapshot.ts'
import { unpackedExchange } from './trace-row.ts'

/** The last instant that a `Date` can represent, in ms since the epoch. */
const LAST_INSTANT = 8.64e15
const Instant = z.number().min(-LAST_INSTANT).max(LAST_INSTANT)
const Sequence = z.int().min(1)
const Bytes = z.strictObject({ base64: z.base64() }).or(z.null())

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const JsonText = z.string().refine(isJson, { error: 'must be the text of a JSON value' })
const jsonOf = <T>(schema: z.ZodType<T>, message: string) =>
  JsonText.refine((text) => !isJson(text) || schema.safeParse(JSON.parse(text)).success, { error: message })

const HeaderTexts = z.record(z.string(), z.string())
const optional = <T extends z.ZodType>(schema: T) => schema.nullish()

/** Client data; only fields that are parsed further. */
const Client = z.looseObject({
  connection: optional(z.union([z.string(), z.number()])),
  retry: optional(z.number()),
  key: optional(z.string()),
  until: optional(z.number()),
  headers: optional(HeaderTexts),
  request: optional(z.string()),
  question: optional(z.string()),
  caller: optional(z.string()),
  timeout: optional(z.looseObject({ ms: z.number() })),
  hung: optional(z.looseObject({ limit: z.number() })),
  ends_after: optional(z.number()),
})
const Coded = z.array(z.union([z.string(), z.number()]))
const Kept = z.looseObject({ coded: Coded, bytes: optional(z.int().min(0)) })
const Exchange = z.object({
  address: z.string().optional(),
  headers: HeaderTexts.optional(),
  times: z.array(z.number()).optional(),
  request: Kept.optional(),
  response: Kept.optional(),
  ended: z.string().optional(),
  nothing: z.literal(true).optional(),
  dropped: z.literal(true).optional(),
  received: HeaderTexts.optional(),
  status: z.int().optional(),
})

function isExchange(text: string): boolean {
  try {
    return Exchange.safeParse(unpackedExchange(text)).success
  } catch {
    return false
  }
}

/** The rows by table; unknown columns are omitted. */
const ROWS: Record<string, z.ZodType> = {
  traces: z.looseObject({
    seq: Sequence,
    started: Instant,
    model: z.string().nullable(),
    status: z.int(),
    thread: optional(z.string()),
    record: TraceRecord,
    request: JsonText,
    rendered: JsonText,
    answer: JsonText,
    arrived: optional(z.number()),
    left: optional(z.number()),
    client: optional(jsonOf(Client, 'must be a note of a client')),
    apart: optional(z.number()),
    exchange: optional(z.string().refine(isExchange, { error: 'must be a note of a connection' })),
  }),
  records: z.looseObject({
    seq: Sequence,
    kind: z.string().min(1),
    id: z.string().min(1),
    workspace: z.string(),
    parent: z.string(),
    key: optional(z.string()),
    body: z.looseObject({}),
  }),
  kept: z.looseObject({ kind: z.string(), id: z.string(), value: z.unknown(), expires: optional(z.number()) }),
  blobs: z.looseObject({ seq: Sequence, bytes: Bytes }),
  vectors: z.looseObject({ seq: Sequence, knowledge: z.string(), vector: Bytes }),
  chunk_texts: z.looseObject({ rowid: Sequence, text: z.string() }),
  long_texts: z.looseObject({
    trace: Sequence,
    field: z.enum(['request', 'rendered', 'answer']),
    part: z.int().min(0),
    text: z.string(),
  }),
  sqlite_sequence: z.looseObject({ name: z.string(), seq: z.int().min(0) }),
}

/**
 * The snapshot with every row in the format of this version.
 * @throws ApiError 400 with the first invalid row and field
 */
export async function checkedSnapshot({ tables, ...rest }: Snapshot, shapes: RecordShapes): Promise<Snapshot> {
  const checked: Snapshot['tables'] = {}
  for (const [name, rows] of Object.entries(tables)) {
    const schema = Object.hasOwn(ROWS, name) ? ROWS[name] : undefined
    if (!schema) continue
    const out: Snapshot['tables'][string] = []
    checked[name] = out
    await inSlices(rows.entries(), ([index, row]) => {
      const at = ['tables', name, index]
      refuse(problemsWith(schema, row)[0], at)
      const shape = name === 'records' ? shapes(String(row.kind)) : undefined
      refuse(shape && bodyProblem(shape, asObject(row.body) ?? {}), [...at, 'body'])
      out.push(row)
    })
  }
  return { ...rest, tables: checked }
}

function refuse(problem: Problem | undefined, at: readonly PropertyKey[]): void {
  if (!problem) return
  const param = formatPath([...at, ...problem.path])
  throw new ApiError(400, 'invalid_snapshot', `the snapshot cannot be loaded: '${param}' ${problem.message}`, { param })
}
