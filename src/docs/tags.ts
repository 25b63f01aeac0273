// The groups of operations, in the order of the page: those of the specification first, then extensions.
import type { Route } from '../contract/core/route.ts'

interface Group {
  name: string
  description: string
  /** What extends the specification in this group, if anything. */
  extensions?: string
}

const GROUPS: readonly Group[] = [
  {
    name: 'Router',
    description: 'The model gateway.',
    extensions: 'Serves the images that responses link to.',
  },
  {
    name: 'Agents',
    description: 'Agents and their tasks.',
    extensions: 'List, update, and version agents; follow, cancel, and approve tasks; A2A.',
  },
  {
    name: 'Datasets',
    description: 'Datasets and their datapoints.',
    extensions: 'Create, list, and delete datasets and datapoints; versions.',
  },
  {
    name: 'Knowledge',
    description: 'Files and the knowledge bases that make them searchable.',
    extensions: 'Files, knowledge bases, datasources, chunks, and search.',
  },
  {
    name: 'Evaluators',
    description: 'Checks of a text by a model or a JSON Schema.',
    extensions: 'List, update, delete, and run evaluators; get single versions.',
  },
  {
    name: 'Human review sets',
    description: 'Which spans human reviewers evaluate.',
    extensions: 'List, update, and delete review sets.',
  },
  {
    name: 'Tools',
    description: 'Functions that models can call.',
    extensions: 'Create, update, and delete tools; list versions.',
  },
  {
    name: 'Contacts',
    description: 'The end users of the calling application.',
    extensions: 'List, update, and delete contacts.',
  },
  {
    name: 'Feedback',
    description: 'Ratings of generated responses, dispatched as events.',
    extensions: 'Read submitted feedback.',
  },
  { name: 'Projects', description: '', extensions: 'Projects, the first segment of a storage path.' },
  { name: 'Memory', description: '', extensions: 'Memories of agents, by store and entity.' },
  {
    name: "Anthropic's API",
    description: '',
    extensions: 'The Anthropic-compatible Messages API at `/v1/messages`.',
  },
  {
    name: "OpenAI's API",
    description: '',
    extensions: "The router operations at OpenAI's paths, for clients of the OpenAI API.",
  },
  {
    name: 'Emulator',
    description: '',
    extensions: 'Traces, scenarios, fixtures, sessions, clocks, verification, and health.',
  },
]

/** The prefix of groups that are not in the specification. */
export const EXTENSION = 'Extension: '

/** The group of a route. */
export const tagOf = ({ tag, contract }: Pick<Route, 'tag' | 'contract'>): string =>
  contract ? tag : `${EXTENSION}${tag}`

/** The groups in the order of the document. */
export const TAGS = [
  ...GROUPS.flatMap(({ name, description }) => (description === '' ? [] : [{ name, description }])),
  ...GROUPS.flatMap(({ name, extensions }) =>
    extensions ? [{ name: `${EXTENSION}${name}`, description: extensions }] : [],
  ),
]
