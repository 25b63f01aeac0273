// The registry of the built-in guardrails: one line each.
import type { BuiltIn } from './define.ts'
import { harmfulModeration } from './harmful-moderation.ts'
import { piiDetection } from './pii-detection.ts'
import { sexualModeration } from './sexual-moderation.ts'

/** All built-in guardrails. */
export const builtIns: readonly BuiltIn[] = [piiDetection, sexualModeration, harmfulModeration]
