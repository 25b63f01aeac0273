// The registry of fault kinds: one line a kind.
import type { FaultKind } from '../contract/fault.ts'
import { authFailure } from './auth-failure.ts'
import { brokenFraming } from './broken-framing.ts'
import { contentFilter } from './content-filter.ts'
import { contextLength } from './context-length.ts'
import { cutStream } from './cut-stream.ts'
import { delay } from './delay.ts'
import { dnsFailure } from './dns-failure.ts'
import { emptyReply } from './empty-reply.ts'
import { hang } from './hang.ts'
import { httpError } from './http-error.ts'
import { modelGone } from './model-gone.ts'
import { quotaExceeded } from './quota-exceeded.ts'
import { rateLimit } from './rate-limit.ts'
import { refuse } from './refuse.ts'
import { reset } from './reset.ts'
import { shiftedPage } from './shifted-page.ts'
import { staleRead } from './stale-read.ts'
import { stuckProcessing } from './stuck-processing.ts'
import { tlsFailure } from './tls-failure.ts'

/** Those that act before an answer. */
const beforeAnswers: readonly FaultKind[] = [
  httpError,
  rateLimit,
  delay,
  hang,
  refuse,
  reset,
  emptyReply,
  dnsFailure,
  tlsFailure,
  authFailure,
  contextLength,
  contentFilter,
  quotaExceeded,
  modelGone,
]

/** Those of the workspace alone. */
const ofWorkspace: readonly FaultKind[] = [stuckProcessing, staleRead, shiftedPage]

/** All kinds of faults, in the order in which documents list them. */
export const faultKinds: readonly FaultKind[] = [...beforeAnswers, cutStream, brokenFraming, ...ofWorkspace]
