import { again } from '../again.mjs'
import { summaryOf } from './chapters.mjs'

export async function summariesOf(connection, chapters) {
  const summaries = []
  for (const chapter of chapters) summaries.push(await again(() => summaryOf(connection, chapter)))
  return summaries
}
