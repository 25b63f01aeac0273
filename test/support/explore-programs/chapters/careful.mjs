import { again } from '../again.mjs'
import { summaryOf } from './chapters.mjs'

export async function summariesOf(chapters) {
  const summaries = []
  for (const chapter of chapters) summaries.push(await again(() => summaryOf(chapter)))
  return summaries
}
