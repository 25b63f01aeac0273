// The limits of templates: one may loop without end, or write gigabytes.

/** Limits of templates: steps of a few microseconds each, and characters of output. */
export interface TemplateLimits {
  steps: number
  characters: number
}

/** Limits of a reply's templates, which are rendered on the main thread: about ten milliseconds. */
export const REPLY_LIMITS: TemplateLimits = { steps: 20_000, characters: 20_000_000 }

/** Limits of all templates of a request. */
export const TEMPLATE_LIMITS: TemplateLimits = { steps: 1_000_000, characters: 20_000_000 }

/** The templates exceed their limits. */
export class TemplateTooLong extends Error {}

const LONG_BLANKS = /\s{64,}/g
/** Blanks that one step inspects. */
const BLANK_LOOKS = 512

/** A new budget for the templates of one request. Its methods throw `TemplateTooLong` when a limit is exceeded. */
export function templateBudget(limits: TemplateLimits) {
  let steps = 0
  let characters = 0
  /** Checks the length of an intermediate value, in characters. */
  const check = (length: number): void => {
    if (length > limits.characters) throw new TemplateTooLong(`it makes more than ${limits.characters} characters`)
  }
  /** Takes steps. */
  const spend = (more: number): void => {
    steps += more
    if (steps > limits.steps) throw new TemplateTooLong(`it takes more than ${limits.steps} steps`)
  }
  return {
    spend,
    check,
    /** Charges for parsing a template. */
    read(template: string): void {
      // A run of blanks is scanned from each of its blanks, so it costs the square of its length.
      for (const [{ length }] of template.matchAll(LONG_BLANKS)) spend(length ** 2 / BLANK_LOOKS)
    },
    /** Takes the characters of a finished text. */
    finish(length: number): void {
      characters += length
      check(characters)
    },
  }
}

/** The remaining limits. Each method throws `TemplateTooLong` when one is exceeded. */
export type TemplateBudget = ReturnType<typeof templateBudget>
