// auth-failure: the API key is rejected.
import { rejects } from './refusal.ts'

/** Tests that a client does not repeat a call whose API key is rejected. */
export const authFailure = rejects('auth-failure', 'The API key is invalid, expired, or revoked.')
