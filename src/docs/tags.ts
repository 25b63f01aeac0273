// The groups of operations, in the order of the page: those of the specification first, then what is there besides.
import type { Route } from '../contract/core/route.ts'

interface Group {
  name: string
  description: string
  /** What is there of it besides the specification, when there is something. */
  besides?: string
}

const GROUPS: readonly Group[] = [
  {
    name: 'Router',
    description: 'The model gateway.',
    besides: 'The pictures that answers point at.',
  },
  {
    name: 'Agents',
    description: 'Agents, and the tasks that they work on.',
    besides: 'Lists, changes and versions of agents; their tasks, followed, cancelled, approved; A2A.',
  },
  {
    name: 'Datasets',
    description: 'Datasets and their datapoints.',
    besides: 'Making, listing and deleting datasets and datapoints; versions.',
  },
  {
    name: 'Knowledge',
    description: 'What can be found in files.',
    besides: 'Files, knowledge bases, datasources, their chunks, and search.',
  },
  {
    name: 'Evaluators',
    description: 'Questions about a text that a model or a schema answers.',
    besides: 'Listing, changing, deleting and running evaluators; single versions.',
  },
  {
    name: 'Human review sets',
    description: 'Which spans people review.',
    besides: 'Listing, changing and deleting review sets.',
  },
  {
    name: 'Tools',
    description: 'Functions that models may call.',
    besides: 'Making, changing and deleting tools; lists of versions.',
  },
  {
    name: 'Contacts',
    description: 'The end users of whoever calls.',
    besides: 'Listing, changing and deleting contacts.',
  },
  {
    name: 'Feedback',
    description: 'Ratings of generations, dispatched as events.',
    besides: 'Reading what was submitted.',
  },
  { name: 'Projects', description: '', besides: 'What the first name of a path stands for.' },
  { name: 'Memory', description: '', besides: 'What agents remember, by store and entity.' },
  {
    name: "Anthropic's API",
    description: '',
    besides: 'Messages, which are chat completions in the words of Anthropic, at `/v1/messages`.',
  },
  {
    name: "OpenAI's API",
    description: '',
    besides: 'The router at the paths of OpenAI, for programs that were written for it.',
  },
  {
    name: 'Emulator',
    description: '',
    besides: 'Traces, scenarios, fixtures, sessions, clocks, verification and health.',
  },
]

/** How the name of each group begins that the specification does not have. */
export const EXTENSION = 'Extension: '

/** The group that a route stands in. */
export const tagOf = ({ tag, contract }: Pick<Route, 'tag' | 'contract'>): string =>
  contract ? tag : `${EXTENSION}${tag}`

/** The groups as the document lists them. */
export const TAGS = [
  ...GROUPS.flatMap(({ name, description }) => (description === '' ? [] : [{ name, description }])),
  ...GROUPS.flatMap(({ name, besides }) => (besides ? [{ name: `${EXTENSION}${name}`, description: besides }] : [])),
]
