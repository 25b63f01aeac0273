// The registry of findings: one line each.
import { amplification } from './amplification.ts'
import { deadlineExceeded } from './deadline-exceeded.ts'
import type { FindingDefinition } from './define.ts'
import { earlyRetry } from './early-retry.ts'
import { gaveUp } from './gave-up.ts'
import { ignoredStatus } from './ignored-status.ts'
import { noBackoff } from './no-backoff.ts'
import { noTimeout } from './no-timeout.ts'
import { notCancelled } from './not-cancelled.ts'
import { storm } from './storm.ts'
import { swallowed } from './swallowed.ts'
import { wrongAddress } from './wrong-address.ts'

/** All kinds, the order in which they are reported. */
export const findingKinds: readonly FindingDefinition[] = [
  wrongAddress,
  storm,
  noBackoff,
  earlyRetry,
  ignoredStatus,
  gaveUp,
  swallowed,
  notCancelled,
  noTimeout,
  deadlineExceeded,
  amplification,
]
