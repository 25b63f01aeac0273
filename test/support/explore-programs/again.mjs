// What the careful programs share: a failed call is made again unless that cannot help, after the wait that was asked for.
const TRIES = 3

/** An error that stays. */
export const lasting = (message) => Object.assign(new Error(message), { lasting: true })

export async function again(act) {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      const status = error.status ?? error.statusCode
      const isFinal = error.lasting || (status >= 400 && status < 500 && status !== 429)
      if (isFinal || tries === TRIES) throw error
      const wait = Number(error.headers?.get?.('retry-after') ?? error.responseHeaders?.['retry-after'] ?? 0)
      await new Promise((done) => setTimeout(done, wait * 1_000 || 100 * 2 ** tries))
    }
  }
}

/** Ends a call if nothing comes for so long: give its `signal` to the call, and call `heard` for each piece. */
export function patience(ms) {
  const controller = new AbortController()
  const stop = () => controller.abort(new Error(`nothing came for ${ms} ms`))
  let timer = setTimeout(stop, ms)
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(timer)
      timer = setTimeout(stop, ms)
    },
    end: () => clearTimeout(timer),
  }
}
