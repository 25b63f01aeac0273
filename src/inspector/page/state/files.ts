// Problems of the current fixture files, shown on every view until they are fixed.
import { signal } from '@preact/signals'
import { askJson } from './api.ts'
import { connection } from './live.ts'

/** A line per mistake, with file, line and column; null if there is none. */
export const fixtureProblem = signal<string | null>(null)

/** Polling interval. */
const LOOK_MS = 2_000

/** Polls for as long as the page is open and visible. */
export async function watchFiles(): Promise<void> {
  for (;;) {
    if (connection.value === 'live' && document.visibilityState === 'visible') await look()
    await new Promise<void>((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

async function look(): Promise<void> {
  try {
    const { fixtures } = await askJson<{ fixtures: { problem: string | null } }>('/_understudy/health')
    // Health needs no token, so it does not include the content of files.
    fixtureProblem.value =
      fixtures.problem === null ? null : (await askJson<{ problem: string | null }>('/_understudy/fixtures')).problem
  } catch {
    // A server that does not respond is reported elsewhere.
  }
}
