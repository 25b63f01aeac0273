// The page on fixture files.

import type { z } from 'zod'
import { PROMPT_NAMES } from '../../answers/template.ts'
import { CallMatch } from '../../backends/fixture/fixture-schema.ts'
import type { FixtureSubject } from '../../contract/core/fixture-subject.ts'
import { FORMATS } from '../../contract/core/formats.ts'
import { ToolMatch, toolCalls } from '../../contract/core/tool-fixture.ts'
import { ErrorScript } from '../../contract/router/script.ts'
import { fixtureSubjects } from '../../endpoints/index.ts'
import { block, code, keyTable, page, table } from './markdown.ts'
import { TYPES_OF_VALUES } from './scenario-pages.ts'

/** Subjects by the schema of their reply, which some share. */
const byScript = (): [z.ZodType, FixtureSubject[]][] => [...Map.groupBy(fixtureSubjects, ({ script }) => script)]

const names = (subjects: readonly FixtureSubject[]) => subjects.map(({ name }) => name).join(', ')

const FIXTURE = `# fixtures/chat.completions/weather.yaml
match: { user: { contains: weather }, tools: [get_weather], tool_result: false }
reply:
  tool_calls:
    - { name: get_weather, arguments: { city: Paris } }`

/** Every key of a fixture file. */
export const fixtureFilesPage = (): string =>
  page(
    'Fixture files',
    'A fixture file says which calls get which response. This page lists every matcher, every key of a reply, and what templates can contain.',
    block('yaml', FIXTURE),
    '[Fixtures](../fixtures.md) is the guide. `understudy schema fixture` prints the same as JSON Schema, for your editor.',
    '## Keys of a fixture',
    table(
      ['key', 'meaning'],
      [
        ['`name`', 'Name of the fixture in traces. Default: the file name.'],
        ['`match`', 'Which calls get it; every key must match.'],
        ['`reply`', 'The response.'],
        [
          '`replies`',
          'Responses for the successive calls of a conversation, instead of `reply`. The last one repeats.',
        ],
        ['`version`', `Version of the file format: ${FORMATS.fixture_file}.`],
      ],
    ),
    '## match: calls of models',
    keyTable(CallMatch, { depth: 2 }),
    '## match: tools of agents',
    `For fixtures of ${code(toolCalls.name)}.`,
    keyTable(ToolMatch, { depth: 2 }),
    ...byScript().flatMap(([script, subjects]) => [`## reply: ${names(subjects)}`, keyTable(script, { depth: 3 })]),
    '## reply: errors of any operation',
    'Retries and fallbacks treat it as an error of a provider. A tool of an agent has a text as `error` instead.',
    keyTable(ErrorScript, { depth: 3 }),
    '## Templates in replies',
    'Texts of a reply are Mustache templates. A name that is not defined is an error in the file. There are no filters.',
    table(
      ['name', 'value'],
      [
        ['`captures.NAME`', 'A named group of a `regex` under `match`, such as `(?<NAME>\\d+)`.'],
        ['`call.FIELD`', 'A field of the request body by path, such as `call.model` or `call.metadata.tier`.'],
        ...PROMPT_NAMES.map((name) => [code(name), PROMPT_MEANINGS[name] ?? '']),
        ['`call.tool`, `call.arguments.NAME`', 'For tools of agents: the function, and an argument of the call.'],
      ],
    ),
    'Prompts of requests can be templates as well: `template_engine` is `text` (plain braces), `mustache` or `jinja`, with the filters of `@huggingface/jinja`.',
    '## Types of values',
    TYPES_OF_VALUES,
    '## Limits of fixture files',
    'Regular expressions of a call can take 500,000 steps together. Templates of a reply can take 20,000 steps. See [Limits on input](../limits.md).',
  )

const PROMPT_MEANINGS: Record<string, string> = {
  'prompt.user': 'The last user message.',
  'prompt.system': 'The system and developer messages.',
  'prompt.turn': 'The number of user messages.',
  'prompt.tool_result': 'The result of the last tool call.',
}
