// Work in steps of which few must be waited for. An async function gives a promise whatever happens in it, and who awaits that
// goes on in a later turn; a call has a dozen such functions on its way, in which nothing is waited for as a rule.

/** Steps of some work: each promise that is yielded is waited for, and what it gives is what the `yield` gives. */
export type Steps<Result> = Generator<Promise<unknown>, Result, unknown>

/** What the steps give: at once when none of them has to be waited for, else a promise of it. */
export function inSteps<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const step = steps.next()
  return step.done ? step.value : waitedFor(steps, step.value)
}

async function waitedFor<Result>(steps: Steps<Result>, first: Promise<unknown>): Promise<Result> {
  let waiting = first
  for (;;) {
    let given: unknown
    let failed = false
    try {
      given = await waiting
    } catch (error) {
      given = error
      failed = true
    }
    const step = failed ? steps.throw(given) : steps.next(given)
    if (step.done) return step.value
    waiting = step.value
  }
}
