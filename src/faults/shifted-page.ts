// shifted-page: a list changes while a client pages through it.
import { z } from 'zod'
import type { WorkspaceCall } from '../contract/core/fault.ts'
import { defineFault } from './define.ts'
import { isPage, type RecordPage, recordsOf } from './records.ts'

/** Tests clients that page through a list that changes meanwhile: an item is missing or repeated. */
export const shiftedPage = defineFault({
  type: 'shifted-page',
  summary: 'A page of a list skips an item or repeats the previous one.',
  points: ['workspace'],
  options: { shift: z.enum(['skip', 'repeat']).default('skip').describe('Whether an item is skipped or repeated.') },
  async apply({ shift }, next, context) {
    const reply = await next()
    const { body } = reply
    const list = body.kind === 'value' && isPage(body.value) ? body.value : undefined
    const page = list && (shift === 'skip' ? skipped(list) : repeated(list, context.call))
    if (page) {
      context.triggered()
      return { ...reply, body: { kind: 'value', value: page } }
    }
    context.skipped(list ? REASONS[shift] : 'the response is not a list')
    return reply
  },
})

const REASONS = { skip: 'the page is empty', repeat: 'no item before the page was read, or it has room for one only' }

const skipped = (page: RecordPage): RecordPage | undefined =>
  page.data.length > 0 ? { ...page, data: page.data.slice(1) } : undefined

/** The page moved back by one: it begins with the last item of the previous page and keeps its length. */
function repeated(page: RecordPage, call: WorkspaceCall | undefined): RecordPage | undefined {
  if (!call || page.data.length < 2) return undefined
  const cursor = new URL(call.url, 'http://localhost').searchParams.get('starting_after')
  const records = call.reads.flatMap(({ reply }) => recordsOf(reply))
  const before = records.findLast(({ _id }) => _id === cursor)
  return before && { ...page, data: [before, ...page.data.slice(0, -1)], has_more: true }
}
