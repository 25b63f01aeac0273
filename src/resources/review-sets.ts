// Human review sets.
import { z } from 'zod'
import type { Fields } from '../contract/workspace/record.ts'
import { ReviewSet, ReviewSetBody, ReviewSetPatch } from '../contract/workspace/review-set.ts'
import { defineResource, recordOf } from './define.ts'
import { projectOf, projects } from './projects.ts'

/** Human review sets (the specification, "Human review set"). */
export const reviewSets = defineResource({
  kind: 'human_review_set',
  noun: 'human review set',
  tag: 'Human review sets',
  path: '/v2/human-eval-sets',
  param: 'human_eval_set_id',
  refers: true,
  plainList: true,
  filter: {
    query: { project_id: z.string().optional().describe('Only those of one project.') },
    includes: (set, { project_id }) => project_id === undefined || set.project_id === project_id,
  },
  descriptions: { list: 'All human review sets, newest first, as a plain array.' },
  shown: ['create'],
  examples: {
    create: {
      spans: {
        display_name: 'Answers to review',
        human_eval_ids: ['01JGFJJZ00Q8VN5K2ZC3R7WXYA'],
        filter_type: 'span_type',
        filter_values: ['chat_completion'],
      },
      name: {
        display_name: 'Refunds',
        human_eval_ids: ['01JGFJJZ00Q8VN5K2ZC3R7WXYA'],
        filter_type: 'name',
        filter_value: 'refund*',
      },
    },
    update: { renamed: { display_name: 'Answers of the week' } },
  },
  create: ReviewSetBody,
  update: ReviewSetPatch,
  record: ReviewSet,
  // The value is kept only for the current filter.
  merge: (before, patch) => {
    const { filter_values, filter_value, ...rest } = { ...before, ...patch } as Fields
    return rest.filter_type === 'span_type' ? { ...rest, filter_values } : { ...rest, filter_value }
  },
  fill(input, work, { before }) {
    if (typeof input.project_id === 'string') recordOf(projects, work, input.project_id)
    else if (!before && work.caller.project !== undefined) return { ...input, project_id: projectOf(work, '') }
    return input
  },
})
