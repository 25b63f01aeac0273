// The registry of findings: one line each.

import { cachePrefixBroken } from './cache-prefix-broken.ts'
import { compactionLoop } from './compaction-loop.ts'
import { deadlineExceeded } from './deadline-exceeded.ts'
import type { FindingDefinition } from './define.ts'
import { earlyRetry } from './early-retry.ts'
import { executedTruncated } from './executed-truncated.ts'
import { gaveUp } from './gave-up.ts'
import { historyRefused } from './history-refused.ts'
import { ignoredStatus } from './ignored-status.ts'
import { noBackoff } from './no-backoff.ts'
import { noTimeout } from './no-timeout.ts'
import { notCanceled } from './not-canceled.ts'
import { amplification } from './retry-amplification.ts'
import { storm } from './retry-storm.ts'
import { swallowed } from './swallowed.ts'
import { wrongAddress } from './unknown-path.ts'

/** All kinds, the order in which they are reported. */
export const findingKinds: readonly FindingDefinition[] = [
  wrongAddress,
  historyRefused,
  storm,
  noBackoff,
  earlyRetry,
  ignoredStatus,
  gaveUp,
  swallowed,
  notCanceled,
  noTimeout,
  deadlineExceeded,
  amplification,
  compactionLoop,
  executedTruncated,
  cachePrefixBroken,
]
