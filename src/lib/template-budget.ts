// What the templates of one request may take: one may have loops without end, or make a text of gigabytes.

/** How much templates may do: steps of a few microseconds each, and characters that they make. */
export interface TemplateLimits {
  steps: number
  characters: number
}

/** What all templates of a request may take. */
export const TEMPLATE_LIMITS: TemplateLimits = { steps: 1_000_000, characters: 20_000_000 }

/** The templates take more than they may. */
export class TemplateTooLong extends Error {}

/** What is left of the limits; each use throws when it is too much. */
export interface TemplateBudget {
  /** Steps are about to be taken. */
  spend(steps: number): void
  /** A value of so many characters was made on the way. */
  check(characters: number): void
  /** A text of so many characters is ready. */
  finish(characters: number): void
}

export function templateBudget(limits: TemplateLimits): TemplateBudget {
  let steps = 0
  let characters = 0
  const check = (length: number) => {
    if (length > limits.characters) throw new TemplateTooLong(`it makes more than ${limits.characters} characters`)
  }
  return {
    spend(more) {
      steps += more
      if (steps > limits.steps) throw new TemplateTooLong(`it takes more than ${limits.steps} steps`)
    },
    check,
    finish(length) {
      characters += length
      check(characters)
    },
  }
}
