// Calls of the workspace as the judge of clients sees them.
import type { WorkspaceCallNote } from '../contract/core/finding.ts'
import { opaqueQuestion } from '../lib/question.ts'
import type { ClientCall } from './client-call.ts'

/** Methods whose calls may be repeated without doing anything twice (RFC 9110, 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
/** Statuses that say that nothing was done. */
const NOT_DONE = new Set([408, 425, 429, 503])

/** Whether nobody can say if a call should be repeated: it may have been done, or a program may wait for what is not there yet. */
function isUnclear({ method, status, client }: WorkspaceCallNote): boolean {
  if (method === 'GET' && status === 404) return true
  return status >= 500 && !NOT_DONE.has(status) && !IDEMPOTENT.has(method) && client.key === null
}

/** The calls, in the order in which they came; no trace shows them. */
export const workspaceClientCalls = (notes: readonly WorkspaceCallNote[]): ClientCall[] =>
  notes.map((note) => ({
    trace: null,
    operation: note.operation,
    model: null,
    request: note.request,
    question: opaqueQuestion(`${note.operation} ${note.request}`),
    words: () => '',
    cutCalls: () => [],
    tooLong: false,
    number: note.number,
    until: note.until,
    ...{ began: note.began, ended: note.ended, arrived: note.arrived, left: note.left },
    ...{ stream: false, begun: false, outcome: note.outcome, status: note.status, code: null, wait: note.wait },
    ...{
      attempts: 0,
      disturbed: false,
      faulty: false,
      timeout: undefined,
      hung: undefined,
      histories: [],
      toResponse: 0,
      gatewayWaits: 0,
    },
    advised: note.advised === true || isUnclear(note),
    mark: note.client,
  }))
