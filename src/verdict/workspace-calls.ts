// Converts workspace calls to client calls for the verdict.
import type { WorkspaceCallNote } from '../contract/core/finding.ts'
import { opaqueQuestion } from '../lib/question.ts'
import type { ClientCall } from './client-call.ts'

/** Idempotent methods (RFC 9110, 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
/** Statuses of requests that had no effect. */
const NOT_DONE = new Set([408, 425, 429, 503])

/** Whether it is unclear if a retry is right: the request may have had an effect, or a program polls for a resource. */
function isUnclear({ method, status, client }: WorkspaceCallNote): boolean {
  if (method === 'GET' && status === 404) return true
  return status >= 500 && !NOT_DONE.has(status) && !IDEMPOTENT.has(method) && client.key === null
}

/** Converts the calls, given in order of arrival. They have no traces. */
export const workspaceClientCalls = (notes: readonly WorkspaceCallNote[]): ClientCall[] =>
  notes.map((note) => ({
    trace: null,
    operation: note.operation,
    model: null,
    request: note.request,
    question: opaqueQuestion(`${note.operation} ${note.request}`),
    responseText: () => '',
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
