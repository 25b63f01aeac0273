// Feedback: submitted and removed by events, so that the response shows what was dispatched, not yet what is stored.
import { ApiError } from '../contract/core/error.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import { Feedback, FeedbackAnswer, FeedbackBody, FeedbackRemoval } from '../contract/workspace/feedback.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { ulidForm } from '../contract/workspace/shared.ts'
import { headerText } from '../lib/header-text.ts'
import { WARNING } from '../sessions/warnings.ts'
import { defineResource, type Transaction } from './define.ts'
import { dispatch, type EventHandler, waitingData } from './knowledge/events.ts'
import type { ResourceDeps } from './routes.ts'
import { createRecord, saveRecord, workOf } from './verbs.ts'

/** Feedback on traces (the specification, "Feedback record"). */
export const feedback = defineResource({
  kind: 'feedback',
  noun: 'feedback',
  plural: 'feedback',
  tag: 'Feedback',
  path: '/v2/feedback',
  param: 'feedback_id',
  verbs: ['list', 'get'],
  descriptions: { list: 'The applied feedback, newest first.' },
  record: Feedback,
  key: 'id',
})

const SUBMITTED = 'feedback.submitted'
const REMOVED = 'feedback.removed'

const storedFeedback = ({ records, caller }: Transaction, data: Fields): Fields | undefined =>
  records.byKey(feedback.kind, caller.workspace, '', String(data.id))

/** The handlers of feedback events. */
export const feedbackHandlers: Record<string, EventHandler> = {
  [SUBMITTED]: async (data) => (work) => {
    const before = storedFeedback(work, data)
    if (before) saveRecord(feedback, work, { parents: [], before }, { ...before, ...data })
    else createRecord(feedback, work, data)
  },
  [REMOVED]: async (data) => (work) => {
    const before = storedFeedback(work, data)
    if (before) work.records.remove([String(before._id)])
  },
}

const EXAMPLE = { id: '01JGFJJZ00Q8VN5K2ZC3R7WXYA', trace_id: '01JGFJJZ0036VRWY9BQ6JFZ8CK' }

/** The routes for submitting and removing feedback. */
export const feedbackRoutes = ({ callOf, wake, strict }: ResourceDeps): Route[] => [
  asRoute({
    method: 'post',
    path: '/v2/feedback',
    tag: 'Feedback',
    summary: 'Submit feedback',
    description:
      'Dispatches an event that stores the feedback and replaces feedback with the same id. An unknown trace causes the header `x-understudy-warning`, or an error with `--strict`.',
    contract: true,
    operationId: 'submitFeedback',
    examples: {
      choice: { property: 'rating', value: ['good'], trace_id: EXAMPLE.trace_id, product: 'router' },
      correction: { property: 'correction', value: 'Within three days.', trace_id: EXAMPLE.trace_id },
    },
    body: FeedbackBody,
    response: FeedbackAnswer,
    errors: [404],
    async handle({ request, body }) {
      const { session, caller } = await callOf(request)
      const exists = session.traces.has(body.trace_id)
      const warning = `there is no trace with the id ${JSON.stringify(body.trace_id)} in this session`
      if (!exists && strict) throw new ApiError(404, 'trace_not_found', warning, { param: 'trace_id' })
      const answer = await session.transact(() => {
        const work = workOf(session, caller)
        const { id = work.newId(ulidForm, feedback.kind).id, property, value, trace_id, product } = body
        const data = { property, value, trace_id, id, product }
        dispatch(work, { type: SUBMITTED, subject: String(id), data })
        if (!exists) noteWarning(work, trace_id, `feedback ${JSON.stringify(id)}: ${warning}`)
        return data
      })
      wake(session)
      return Response.json(answer, exists ? {} : { headers: { 'x-understudy-warning': headerText(warning) } })
    },
  }),
  asRoute({
    method: 'post',
    path: '/v2/feedback/remove',
    tag: 'Feedback',
    summary: 'Remove feedback',
    description: 'Dispatches an event that deletes the feedback.',
    contract: true,
    operationId: 'removeFeedback',
    examples: { one: { ...EXAMPLE, product: 'router' } },
    body: FeedbackRemoval,
    response: FeedbackRemoval,
    errors: [404],
    async handle({ request, body }) {
      const { session, caller } = await callOf(request)
      await session.transact(() => {
        const work = workOf(session, caller)
        const known = [storedFeedback(work, body), ...waitingData(work, SUBMITTED)]
        const { id, trace_id } = body
        if (!known.some((one) => one?.id === id && one.trace_id === trace_id)) {
          const message = `Feedback not found: no feedback has the id ${JSON.stringify(id)} on the trace ${JSON.stringify(trace_id)}`
          throw new ApiError(404, 'feedback_not_found', message, { param: 'id' })
        }
        dispatch(work, { type: REMOVED, subject: String(body.id), data: body })
      })
      wake(session)
      return body
    },
  }),
]

/** Notes a warning, once per subject (sessions/warnings.ts). */
function noteWarning({ records, caller, newId, now }: Transaction, subject: string, message: string): void {
  const { workspace } = caller
  if (records.byKey(WARNING, workspace, '', subject)) return
  records.insert({
    ...newId(ulidForm, WARNING),
    kind: WARNING,
    workspace,
    parent: '',
    key: subject,
    body: { message, created: now },
  })
}
