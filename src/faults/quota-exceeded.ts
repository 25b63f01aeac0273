// quota-exceeded: the quota or credit of the account is exhausted, so waiting does not help.
import { rejects } from './refusal.ts'

/** Tests that a client does not retry when the account has no quota left, although the status may be 429 (OpenAI). */
export const quotaExceeded = rejects('quota-exceeded', 'The quota or credit of the account is exhausted.')
