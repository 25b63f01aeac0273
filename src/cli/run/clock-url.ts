// The address at which the command of exec moves the clock of its session, without a token.
import type { Understudy } from '../../deps.ts'

const PATH = '/_understudy/clock'

/** The address, as UNDERSTUDY_CLOCK_URL has it. */
export const clockUrl = (url: string): string => `${url}${PATH}`

/** The program, which also moves clocks at that address: that of the session `home`, or of the one that `?session=` names. */
export function withClockUrl(
  { app, ...rest }: Understudy,
  { home, token = 'any' }: { home: string; token: string | undefined },
): Understudy {
  return {
    ...rest,
    app: {
      fetch(request, hold) {
        const url = request.url.includes(PATH) ? URL.parse(request.url) : null
        if (url?.pathname !== PATH) return app.fetch(request, hold)
        const session = url.searchParams.get('session') ?? home
        url.pathname = `/_understudy/sessions/${encodeURIComponent(session)}/clock`
        url.search = ''
        // The request stays what it is to the checks of its origin.
        const { method, body, signal } = request
        const headers = new Headers(request.headers)
        headers.set('authorization', `Bearer ${token}`)
        // Most clients call a text something else when nobody tells them.
        headers.set('content-type', 'application/json')
        return app.fetch(new Request(url, { method, headers, body, signal }), hold)
      },
    },
  }
}
