// The mistake: a failed call is repeated until it succeeds, even if it never does.
import { summaryOf } from './chapters.mjs'

export async function summariesOf(connection, chapters) {
  const summaries = []
  for (const chapter of chapters) summaries.push(await endlessly(() => summaryOf(connection, chapter)))
  return summaries
}

async function endlessly(act) {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      const wait = Number(error.headers?.get?.('retry-after') ?? 0)
      await new Promise((done) => setTimeout(done, wait * 1_000 || 50))
    }
  }
}
