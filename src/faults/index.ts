// The registry of fault kinds: one line a kind.
import type { FaultKind } from '../contract/fault.ts'
import { cutStream } from './cut-stream.ts'
import { delay } from './delay.ts'
import { duplicateChunk } from './duplicate-chunk.ts'
import { emptyBody } from './empty-body.ts'
import { keepAliveComments } from './keep-alive-comments.ts'
import { malformedChunk } from './malformed-chunk.ts'
import { malformedJson } from './malformed-json.ts'
import { missingDone } from './missing-done.ts'
import { missingFinish } from './missing-finish.ts'
import { missingUsage } from './missing-usage.ts'
import { reorderChunks } from './reorder-chunks.ts'
import { slowStream } from './slow-stream.ts'
import { splitBytes } from './split-bytes.ts'
import { stallStream } from './stall-stream.ts'
import { streamError } from './stream-error.ts'
import { truncateBody } from './truncate-body.ts'
import { wrongContentType } from './wrong-content-type.ts'

/** Faults inside the body or the stream. */
const inside: readonly FaultKind[] = [
  cutStream,
  stallStream,
  slowStream,
  streamError,
  malformedChunk,
  malformedJson,
  missingDone,
  missingFinish,
  missingUsage,
  duplicateChunk,
  reorderChunks,
  splitBytes,
  keepAliveComments,
  wrongContentType,
  emptyBody,
  truncateBody,
]

/** All kinds of faults, in the order in which documents list them. */
export const faultKinds: readonly FaultKind[] = [delay, ...inside]
