// The provider that a model without one is taken to be of.

/** The one that most programs mean when they say no other. */
export const ASSUMED_PROVIDER = 'openai'
