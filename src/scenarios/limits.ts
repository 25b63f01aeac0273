// Limits of scenarios. They need no schema.

/** Maximum number of rules, and of expectations, in a scenario. */
export const MAX_RULES = 1_000
