// The registry of fault types.
import type { FaultKind } from '../contract/core/fault.ts'
import { approvalNever } from './approval-never.ts'
import { authFailure } from './auth-failure.ts'
import { brokenFraming } from './broken-framing.ts'
import { connectionRefused } from './connection-refused.ts'
import { contentFilter } from './content-filter.ts'
import { contextLength } from './context-length.ts'
import { cutStream } from './cut-stream.ts'
import { delay } from './delay.ts'
import { dnsFailure } from './dns-failure.ts'
import { duplicateChunk } from './duplicate-chunk.ts'
import { emptyBody } from './empty-body.ts'
import { emptyReply } from './empty-reply.ts'
import { hang } from './hang.ts'
import { httpError } from './http-error.ts'
import { keepAliveComments } from './keep-alive-comments.ts'
import { lastEventWithoutBlankLine } from './last-event-without-blank-line.ts'
import { lateResponse } from './late-response.ts'
import { malformedChunk } from './malformed-chunk.ts'
import { malformedContent } from './malformed-content.ts'
import { malformedJson } from './malformed-json.ts'
import { missingDone } from './missing-done.ts'
import { missingFinish } from './missing-finish.ts'
import { missingUsage } from './missing-usage.ts'
import { modelNotFound } from './model-not-found.ts'
import { plainJsonErrorInStream } from './plain-json-error-in-stream.ts'
import { quotaExceeded } from './quota-exceeded.ts'
import { rateLimit } from './rate-limit.ts'
import { reorderChunks } from './reorder-chunks.ts'
import { reset } from './reset.ts'
import { runaway } from './runaway.ts'
import { shiftedPage } from './shifted-page.ts'
import { slowStream } from './slow-stream.ts'
import { splitBytes } from './split-bytes.ts'
import { staleRead } from './stale-read.ts'
import { stallStream } from './stall-stream.ts'
import { streamError } from './stream-error.ts'
import { stuckProcessing } from './stuck-processing.ts'
import { stuckTask } from './stuck-task.ts'
import { subAgentFailed } from './sub-agent-failed.ts'
import { tlsFailure } from './tls-failure.ts'
import { toolDuplicate } from './tool-duplicate.ts'
import { toolError } from './tool-error.ts'
import { toolTimeout } from './tool-timeout.ts'
import { toolTruncated } from './tool-truncated.ts'
import { toolWrongArguments } from './tool-wrong-arguments.ts'
import { truncateBody } from './truncate-body.ts'
import { unknownFinishReason } from './unknown-finish-reason.ts'
import { unknownTool } from './unknown-tool.ts'
import { wrongContentType } from './wrong-content-type.ts'

/** Fault types by what they affect, in the order of the documentation. */
export const faultGroups: readonly { title: string; kinds: readonly FaultKind[] }[] = [
  {
    title: 'Errors, delays and connections',
    kinds: [
      httpError,
      rateLimit,
      delay,
      hang,
      connectionRefused,
      reset,
      emptyReply,
      dnsFailure,
      tlsFailure,
      authFailure,
      contextLength,
      contentFilter,
      quotaExceeded,
      modelNotFound,
    ],
  },
  {
    title: 'Streams and bodies',
    kinds: [
      cutStream,
      stallStream,
      slowStream,
      streamError,
      plainJsonErrorInStream,
      malformedChunk,
      malformedContent,
      malformedJson,
      missingDone,
      lastEventWithoutBlankLine,
      missingFinish,
      unknownFinishReason,
      missingUsage,
      duplicateChunk,
      reorderChunks,
      splitBytes,
      keepAliveComments,
      wrongContentType,
      emptyBody,
      truncateBody,
      brokenFraming,
    ],
  },
  { title: 'Tool calls of models', kinds: [toolWrongArguments, toolTruncated, toolDuplicate, unknownTool, runaway] },
  { title: 'Workspace', kinds: [stuckProcessing, staleRead, shiftedPage] },
  { title: 'Tools of agents', kinds: [toolError, toolTimeout, subAgentFailed] },
  { title: 'Tasks of agents', kinds: [stuckTask, approvalNever, lateResponse] },
]

/** All fault types. */
export const faultKinds: readonly FaultKind[] = faultGroups.flatMap(({ kinds }) => kinds)
