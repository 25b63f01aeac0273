// The URL at which the command of exec controls the clock of its session, without a token.
import type { Understudy } from '../../deps.ts'

const PATH = '/_understudy/clock'

/** The URL, as in UNDERSTUDY_CLOCK_URL. */
export const clockUrl = (url: string): string => `${url}${PATH}`

/** Wraps the program so that it also controls clocks at that URL: that of the session `home`, or of `?session=`. */
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
        // Keeps the request's properties for the check of its origin.
        const { method, body, signal } = request
        const headers = new Headers(request.headers)
        headers.set('authorization', `Bearer ${token}`)
        // Most clients send another content type for a text by default.
        headers.set('content-type', 'application/json')
        return app.fetch(new Request(url, { method, headers, body, signal }), hold)
      },
    },
  }
}
