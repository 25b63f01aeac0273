// A program that calls with plain fetch, and behaves as its first argument says: plain HOW EXIT-CODE FILE.
import { join } from 'node:path'
import { behaviorOf, type Program, pass as passOn, type Surroundings, upTo } from './surroundings.ts'

interface Options {
  base?: string | undefined
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
}
function behaviorsOf(about: Surroundings, file: string): Record<string, () => Promise<unknown>> {
  const { fetch, say, sleep } = about
  const BASE = about.env.OPENAI_BASE_URL ?? ''
  const KEY = about.env.OPENAI_API_KEY ?? ''
  const pass = (ms: number) => passOn(about, ms)
  const post = (
    content: string,
    more: object = {},
    { base = BASE, headers = {}, signal }: Options = {},
  ): Promise<Response> =>
    fetch(`${base}/chat/completions`, {
      method: 'POST',
      ...(signal && { signal }),
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content }], ...more }),
    })
  /** Calls and reads the answer to its end. */
  const call = async (content: string, more: object = {}, headers = {}, signal?: AbortSignal): Promise<Response> => {
    const response = await post(content, more, { headers, signal })
    await response.arrayBuffer()
    return response
  }
  const told = (response: Response) => Number(response.headers.get('retry-after') ?? 0) * 1000

  /** Calls until there is an answer, with the pause that `pause` gives for the number of the failure. */
  async function until(
    content: string,
    pause: (failure: number, response: Response) => number,
    most = 12,
  ): Promise<Response> {
    for (let failure = 1; ; failure++) {
      const response = await call(content)
      if (response.ok || failure === most) return response
      const ms = pause(failure, response)
      if (ms > 0) await pass(ms)
    }
  }

  /** The text of a stream, whole or not; says whether it came to its end. */
  async function stream(content: string): Promise<boolean> {
    try {
      const text = await (await post(content, { stream: true })).text()
      return text.includes('[DONE]') && !text.includes('"error"')
    } catch {
      return false
    }
  }

  return {
    // Badly.
    async impatient() {
      await until('weather', () => 100)
    },
    async storm() {
      await until('weather', () => 0, 300)
    },
    async quitter() {
      await call('weather')
    },
    async swallower() {
      await stream('weather')
    },
    /** Like an SDK, it says which repetition a call is. */
    async stubborn() {
      for (const retry of upTo(4)) {
        await call('weather', {}, { 'x-stainless-retry-count': String(retry - 1) })
        await pass(1000 * 2 ** retry)
      }
    },
    /** Repeats what the gateway has repeated. */
    async amplifier() {
      for (const retry of upTo(6)) {
        await call(
          'weather',
          { retry: { count: 3, on_codes: [503] } },
          { 'x-stainless-retry-count': String(retry - 1) },
        )
        await pass(1000 * 2 ** retry)
      }
    },
    async stranger() {
      for (const _ of upTo(3)) await post('weather', {}, { base: `${BASE.replace(/\/v2\/router$/, '')}/openai/v1` })
    },
    async 'hanging up'() {
      for (const _ of upTo(3)) await call('weather', {}, {}, AbortSignal.timeout(1_000)).catch(() => {})
    },
    async nobody() {},
    // Well.
    async one() {
      say(String((await call('weather')).status))
    },
    async polling() {
      for (const _ of upTo(8)) await call('weather')
    },
    async crowd() {
      await Promise.all(upTo(12).map(() => call('weather')))
    },
    async patient() {
      await until('weather', (failure, response) => told(response) || 1000 * 2 ** failure)
    },
    async 'patient crowd'() {
      await Promise.all(upTo(6).map(() => until('weather', (_, response) => told(response))))
    },
    async correcting() {
      const refused = await call('weather', { temperature: 9 })
      if (refused.status === 400) await call('weather', { temperature: 1 })
    },
    async 'asking again'() {
      for (const attempt of upTo(3)) {
        if (await stream('weather')) return
        await pass(1000 * 2 ** attempt)
      }
    },
    async 'reading enough'() {
      const enough = new AbortController()
      const response = await fetch(`${BASE}/chat/completions`, {
        method: 'POST',
        signal: enough.signal,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'openai/gpt-4o', stream: true, messages: [{ role: 'user', content: 'Hello!' }] }),
      })
      const reader = response.body?.getReader()
      await reader?.read()
      enough.abort()
    },
    // Waits by itself: time must follow it.
    async waiting() {
      for (const _ of upTo(12)) {
        say(String((await call('weather')).status))
        await sleep(350)
      }
    },
    async 'waiting for recovery'() {
      for (const failure of upTo(8)) {
        const { status } = await call('weather')
        say(String(status))
        if (status === 200) return
        await sleep(300 * failure)
      }
    },
    async sleeping() {
      await sleep(60_000)
    },
    async 'one then sleeping'() {
      say(`status ${(await call('weather')).status}`)
      await sleep(60_000)
    },
    /** What it starts calls again and again until it is ended. */
    async parent() {
      const child = Bun.spawn([process.execPath, join(import.meta.dir, 'run.ts'), 'plain', 'calling'])
      await Bun.write(file, String(child.pid))
      await child.exited
    },
    async calling() {
      for (;;) {
        await call('weather')
        await sleep(50)
      }
    },
  }
}

export const plain =
  (how = '', code = '0', file = ''): Program =>
  async (about) => {
    await behaviorOf(behaviorsOf(about, file), how)()
    return Number(code)
  }
