// model-not-found: the model no longer exists.
import { rejects } from './refusal.ts'

/** Tests that a client or the gateway falls back from a retired model instead of repeating the call. */
export const modelNotFound = rejects('model-not-found', 'The model was retired, or the account has no access to it.')
