// The bar of work that takes longer than a second: on stderr, and only where a person sees it.
import { realClock } from '../lib/clock.ts'
import type { CommandIo } from './io.ts'
import { safeLine } from './output.ts'

const PATIENCE_MS = 1_000
const EVERY_MS = 200

/** How far work has come. */
export interface Progress {
  done: number
  total: number
}

/** Waits for work, with a bar once it has taken a second; `look` says how far the work is. */
export async function withBar<T>(
  { terminal }: Pick<CommandIo, 'terminal'>,
  work: Promise<T>,
  { label, look }: { label: string; look: () => Promise<Progress> },
): Promise<T> {
  const output = terminal()
  if (!output) return work
  const ended = new AbortController()
  const end = () => ended.abort()
  const over = work.then(end, end)
  const wait = (ms: number) => Promise.race([over, realClock.sleep(ms, ended.signal).catch(() => {})])
  await wait(PATIENCE_MS)
  if (!ended.signal.aborted) {
    const { progress } = await import('@clack/prompts')
    const shownLabel = safeLine(label, false)
    const bar = progress({ output, max: 100 })
    bar.start(shownLabel)
    for (let shown = 0; !ended.signal.aborted; await wait(EVERY_MS)) {
      // A server that has ended tells so in the answer to the work itself.
      const { done, total } = await look().catch(() => ({ done: 0, total: 0 }))
      const percent = Math.max(shown, total > 0 ? Math.floor((100 * done) / total) : 0)
      bar.advance(percent - shown, `${shownLabel}: ${percent} %`)
      shown = percent
    }
    bar.clear()
  }
  return work
}
