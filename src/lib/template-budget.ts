// What the templates of one request may take: one may have loops without end, or make a text of gigabytes.

/** How much templates may do: steps of a few microseconds each, and characters that they make. */
export interface TemplateLimits {
  steps: number
  characters: number
}

/** What the templates of a reply may take, which are filled in beside other calls: some ten milliseconds. */
export const REPLY_LIMITS: TemplateLimits = { steps: 20_000, characters: 20_000_000 }

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
  /** A template is about to be read. */
  read(template: string): void
  /** A text of so many characters is ready. */
  finish(characters: number): void
}

const LONG_BLANKS = /\s{64,}/g
/** Blanks that are looked at in a step. */
const BLANK_LOOKS = 512

/** A new budget for the templates of one request. Its methods throw `TemplateTooLong` when a limit is exceeded. */
export function templateBudget(limits: TemplateLimits): TemplateBudget {
  let steps = 0
  let characters = 0
  const check = (length: number) => {
    if (length > limits.characters) throw new TemplateTooLong(`it makes more than ${limits.characters} characters`)
  }
  const spend = (more: number) => {
    steps += more
    if (steps > limits.steps) throw new TemplateTooLong(`it takes more than ${limits.steps} steps`)
  }
  return {
    spend,
    check,
    read(template) {
      // A run of blanks is gone over from each blank in it, and so it costs its square.
      for (const [{ length }] of template.matchAll(LONG_BLANKS)) spend(length ** 2 / BLANK_LOOKS)
    },
    finish(length) {
      characters += length
      check(characters)
    },
  }
}
