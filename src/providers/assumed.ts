// The default provider for a model without one.

/** The provider of models without one. */
export const ASSUMED_PROVIDER = 'openai'
