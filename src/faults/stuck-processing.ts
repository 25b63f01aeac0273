// stuck-processing: a datasource never leaves the processing state.
import { z } from 'zod'
import { defineFault } from './define.ts'
import { mapRecords } from './records.ts'

/** The states of a datasource. */
const STATES = ['pending', 'processing', 'completed', 'failed', 'queued']

/** Tests clients that poll a datasource: it never leaves a state of processing. */
export const stuckProcessing = defineFault({
  type: 'stuck-processing',
  summary: 'A datasource never leaves the processing state.',
  points: ['workspace'],
  options: {
    status: z.enum(['processing', 'queued', 'pending']).default('processing').describe('The reported status.'),
  },
  async apply({ status }, next, context) {
    const reply = await next()
    let found = false
    const result = /\/datasources(\/[^/]+)?$/.test(context.call?.url.replace(/\?.*$/s, '') ?? '')
      ? mapRecords(reply, (record) => {
          if (!STATES.includes(String(record.status))) return record
          found = true
          if (record.status !== status) context.triggered()
          return { ...record, status }
        })
      : reply
    context.skipped(found ? 'it is already in that state' : 'the response has no datasource')
    return result
  },
})
