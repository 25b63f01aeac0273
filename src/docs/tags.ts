// The groups of operations, in the order of the page: those of the specification first, then extensions.
import type { Route } from '../contract/core/route.ts'

/** Names and descriptions; the last one is of what extends the specification in the group. */
const GROUPS: readonly [name: string, description: string, extensions: string][] = [
  ['Router', 'The model gateway.', 'Serves the images that responses link to.'],
  ['Agents', 'Agents and their tasks.', 'List, update, and version agents; follow, cancel, and approve tasks; A2A.'],
  ['Datasets', 'Datasets and their datapoints.', 'Create, list, and delete datasets and datapoints; versions.'],
  [
    'Knowledge',
    'Files and the knowledge bases that make them searchable.',
    'Files, knowledge bases, datasources, chunks, and search.',
  ],
  [
    'Evaluators',
    'Checks of a text by a model or a JSON Schema.',
    'List, update, delete, and run evaluators; get single versions.',
  ],
  ['Human review sets', 'Which spans human reviewers evaluate.', 'List, update, and delete review sets.'],
  ['Tools', 'Functions that models can call.', 'Create, update, and delete tools; list versions.'],
  ['Contacts', 'The end users of the calling application.', 'List, update, and delete contacts.'],
  ['Feedback', 'Ratings of generated responses, dispatched as events.', 'Read submitted feedback.'],
  ['Projects', '', 'Projects, the first segment of a storage path.'],
  ['Memory', '', 'Memories of agents, by store and entity.'],
  ["Anthropic's API", '', 'The Anthropic-compatible Messages API at `/v1/messages`.'],
  ["OpenAI's API", '', "The router operations at OpenAI's paths, for clients of the OpenAI API."],
  ['Emulator', '', 'Traces, scenarios, fixtures, sessions, clocks, verification, and health.'],
]

/** The prefix of groups that are not in the specification. */
export const EXTENSION = 'Extension: '

/** The group of a route. */
export const tagOf = ({ tag, contract }: Pick<Route, 'tag' | 'contract'>): string =>
  contract ? tag : `${EXTENSION}${tag}`

/** The groups in the order of the document. */
export const TAGS = [
  ...GROUPS.flatMap(([name, description]) => (description === '' ? [] : [{ name, description }])),
  ...GROUPS.map(([name, , description]) => ({ name: `${EXTENSION}${name}`, description })),
]
