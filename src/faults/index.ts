// The registry of fault kinds: one line a kind.
import type { FaultKind } from '../contract/fault.ts'
import { brokenFraming } from './broken-framing.ts'
import { cutStream } from './cut-stream.ts'
import { delay } from './delay.ts'

/** All kinds of faults, in the order in which documents list them. */
export const faultKinds: readonly FaultKind[] = [delay, cutStream, brokenFraming]
