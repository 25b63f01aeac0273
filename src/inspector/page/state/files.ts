// What is wrong in files of fixtures as they stand now: said on every view until it is mended.
import { signal } from '@preact/signals'
import { askJson } from './api.ts'
import { connection } from './live.ts'

/** A line for each mistake, with file, line and column; null when there is none. */
export const fixtureProblem = signal<string | null>(null)

/** How often it is looked. */
const LOOK_MS = 2_000

/** Looks for as long as the page is open and can be seen. */
export async function watchFiles(): Promise<void> {
  for (;;) {
    if (connection.value === 'live' && document.visibilityState === 'visible') await look()
    await new Promise<void>((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

async function look(): Promise<void> {
  try {
    const { fixtures } = await askJson<{ fixtures: { problem: string | null } }>('/_understudy/health')
    // Health asks for no token, and so does not say what is in files.
    fixtureProblem.value =
      fixtures.problem === null ? null : (await askJson<{ problem: string | null }>('/_understudy/fixtures')).problem
  } catch {
    // That the server does not answer is said elsewhere.
  }
}
