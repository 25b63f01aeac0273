// The schemas of record bodies by kind, for files and snapshots.
import { z } from 'zod'
import { TASK_SHAPES } from '../contract/workspace/task-shapes.ts'
import type { RecordShape, RecordShapes } from '../db/record-shapes.ts'
import { WARNING } from '../sessions/warnings.ts'
import type { Resource } from './define.ts'

const Identified = z.looseObject({ _id: z.string().min(1) })
/** Schemas of records that belong to no resource. */
const OTHERS = { ...TASK_SHAPES, [WARNING]: z.looseObject({ message: z.string() }) }

/** The schemas of resources and of all other records. */
export function shapesOf(resources: readonly Resource[]): RecordShapes {
  const shapes = new Map<string, RecordShape>(Object.entries(OTHERS).map(([kind, stored]) => [kind, { stored }]))
  for (const { kind, record, stored, show } of resources)
    shapes.set(kind, {
      stored: stored ? Identified.and(stored) : Identified,
      shown: record,
      ...(show && { show }),
    })
  return (kind) => shapes.get(kind)
}
