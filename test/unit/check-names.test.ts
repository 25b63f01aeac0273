// understudy check: unknown names (templates, providers, operations, rules) and YAML errors, each with its place and a reason.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

type Row = [promise: string, kind: 'fixture' | 'any' | 'scenario', text: string, said: string | RegExp]

const rule = (match: string, rest = '') =>
  `name: a\nrules:\n  - name: r\n    match: ${match}\n    fault: { type: http-error, status: 503 }\n${rest}`
const expecting = (text: string) => rule('{}', `expect:\n  - ${text}\n`)

const names: Row[] = [
  [
    'an undefined capture',
    'fixture',
    "match: { user: { regex: '(?<city>.*)' } }\nreply:\n  content: 'In {{captures.nope}}'\n",
    '3:3: reply.content has {{captures.nope}}, which is not defined; valid: captures.city, ',
  ],
  [
    'an unknown field of the prompt',
    'fixture',
    "reply:\n  content: '{{prompt.usr}}'\n",
    "2:3: reply.content has {{prompt.usr}}, which is not defined (did you mean 'prompt.user'?); valid: prompt.user, prompt.system, ",
  ],
  [
    'an unknown provider of a model',
    'fixture',
    'match: { model: openaii/gpt-4o }\nreply: { content: x }\n',
    '1:10: match.model names the unknown provider "openaii" (did you mean \'openai\'?); valid: ',
  ],
  [
    'an unknown provider of a model in a list',
    'fixture',
    "- reply: { content: y }\n  match: { user: hi }\n- match: { model: 'anthropc/*' }\n  reply: { content: x }\n",
    '3:12: [1].match.model names the unknown provider "anthropc" (did you mean \'anthropic\'?)',
  ],
  [
    'a model without a provider',
    'fixture',
    'match: { model: gpt-4o }\nreply: { content: x }\n',
    '1:10: match.model must be \'<provider>/<model>\' (* matches any characters), got "gpt-4o"',
  ],
  [
    'a pattern without a provider',
    'fixture',
    "match: { model: 'gpt-*' }\nreply: { content: x }\n",
    "1:10: match.model must be '<provider>/<model>'",
  ],
  [
    'an unknown operation of a fixture',
    'any',
    'match: { operation: [chat.completions, chat] }\nreply: { content: x }\n',
    /^1:40: match\.operation\[1\] must be one of chat\.completions, .*, got "chat" \(did you mean 'chat\.completions'\?\)$/,
  ],
  [
    'an unknown provider of a rule',
    'scenario',
    rule('{ provider: openaii }'),
    '4:14: rules[0].match.provider names the unknown provider "openaii" (did you mean \'openai\'?); valid: ',
  ],
  [
    'a pattern that matches no provider',
    'scenario',
    rule("{ provider: 'opn*' }"),
    '4:14: rules[0].match.provider names the unknown provider "opn*"',
  ],
  [
    'an unknown provider of a model of a rule',
    'scenario',
    rule('{ model: openaii/gpt-4o }'),
    '4:14: rules[0].match.model names the unknown provider "openaii" (did you mean \'openai\'?)',
  ],
  [
    'an unknown operation of a rule',
    'scenario',
    rule('{ operation: chat.completion }'),
    '4:14: rules[0].match.operation names the unknown operation "chat.completion" (did you mean \'chat.completions\'?); valid: chat.completions, ',
  ],
  [
    'an unknown provider of an expectation',
    'scenario',
    expecting('{ provider: openaii, attempts: 1 }'),
    '7:7: expect[0].provider names the unknown provider "openaii"',
  ],
  [
    'an unknown operation in an order',
    'scenario',
    expecting('order: [{ operation: responses }, { operation: chat }]'),
    '7:41: expect[0].order[1].operation names the unknown operation "chat"',
  ],
  [
    'an unknown rule of an expectation',
    'scenario',
    rule('{}', 'expect:\n  - { rule: outge, attempts: 1 }\n').replace('name: r', 'name: outage'),
    '7:7: expect[0].rule must be the name of a rule: "outage" (did you mean \'outage\'?)',
  ],
]

const mistakes: Row[] = [
  ['a tab', 'fixture', 'reply:\n\tcontent: x\n', '2:1: Tabs are not allowed as indentation: indent with spaces'],
  [
    'an indentation that is too deep',
    'fixture',
    'match:\n  user: hi\n   model: x\nreply: { content: x }\n',
    /^2:9: .*: the next line is indented more than this one$/,
  ],
  [
    'an indentation that matches no level above',
    'fixture',
    'match:\n  user: hi\n model: x\nreply: { content: x }\n',
    /^3:1: .*: lines that belong together must begin in the same column$/,
  ],
  [
    'a duplicate key',
    'fixture',
    'reply: { content: x }\nreply: { content: y }\n',
    "2:1: Map keys must be unique: 'reply' is there twice",
  ],
  [
    'a key without a space after its colon',
    'fixture',
    'reply:\n  content:x\n  refusal: y\n',
    /^2:3: .*: a key ends with a colon and a space$/,
  ],
  [
    'a colon in a text',
    'fixture',
    'reply:\n  content: Note: this is it\n',
    /^2:12: .*: a text with a colon and a space in it must stand in quotes$/,
  ],
  [
    'a colon in a text within braces',
    'fixture',
    'reply: { content: Note: this is it }\n',
    /^1:19: .*: a text with a colon and a space in it must stand in quotes$/,
  ],
  [
    'a star that begins a pattern',
    'fixture',
    'match: { model: */gpt-4o }\nreply: { content: x }\n',
    '1:17: Unresolved alias */gpt-4o: a text that begins with * must stand in quotes',
  ],
  ['a lone star', 'scenario', rule('{ provider: * }'), /^4:24: .*: a text that begins with \* must stand in quotes$/],
  [
    'an @ that begins a text',
    'fixture',
    'reply:\n  content: @home\n',
    /^2:12: .*: a text that begins with @ must stand in quotes$/,
  ],
  [
    'a ! that begins a text',
    'fixture',
    'reply:\n  content: !home x\n',
    /^2:12: .*: a text that begins with ! must stand in quotes$/,
  ],
  [
    'a template alone without quotes',
    'fixture',
    'reply:\n  content: {{prompt.user}}\n',
    /^2:13: .*: a text that begins with a template \({{\.\.\.}}\) must stand in quotes$/,
  ],
  [
    'a template that begins a text without quotes',
    'fixture',
    'reply:\n  content: {{prompt.user}} it is\n',
    /^2:28: .*: a text that begins with a template \({{\.\.\.}}\) must stand in quotes$/,
  ],
  [
    'a backslash in double quotes',
    'fixture',
    'match: { user: { regex: "\\w+" } }\nreply: { content: x }\n',
    /^1:26: .*: in single quotes a backslash stands for itself$/,
  ],
  [
    'quotes that do not end',
    'fixture',
    'reply:\n  content: "abc\n',
    /^\d:\d+: .*: a text that begins with a quotation mark must end with one$/,
  ],
  [
    'quotes around a part',
    'fixture',
    'reply:\n  content: "a" b\n',
    /^2:16: .*: a text with quotes or brackets in it must stand in quotes as a whole$/,
  ],
  [
    'a bracket that is not closed',
    'fixture',
    'match: { user: hi\nreply: { content: x }\n',
    /^2:1: .*: is a bracket above not closed\?$/,
  ],
  [
    'two documents',
    'fixture',
    'reply: { content: x }\n---\nreply: { content: y }\n',
    /^2:1: .*: several fixtures of a file stand in a list, each after a dash$/,
  ],
  ['a percent sign that begins a line', 'fixture', '%reply: x\n', /^\d:1: .*: a text that begins with % must/],
  [
    'a regex of a fixture',
    'fixture',
    "match:\n  user: { regex: '(' }\nreply: { content: x }\n",
    '2:11: match.user.regex must be a regular expression: missing ), got "("',
  ],
  [
    'a regex of a header',
    'fixture',
    "match:\n  header: { x-a: { regex: '[' } }\nreply: { content: x }\n",
    /^2:20: match\.header\.x-a\.regex must be a regular expression: .*character class.*, got "\["$/,
  ],
  [
    'a regex of a rule',
    'scenario',
    rule("{ text: { regex: 'a{2,1}' } }"),
    /^4:22: rules\[0\]\.match\.text\.regex must be a regular expression: .*, got "a\{2,1\}"$/,
  ],
]

const fine: [promise: string, kind: 'fixture' | 'scenario', text: string][] = [
  [
    'every name that there is',
    'fixture',
    "match: { user: { regex: '(?<city>.*)' } }\nreply:\n  content: '{{captures.city}} {{prompt.user}} {{prompt.tool_result}} {{call.model}} {{call.metadata.tier}}'\n",
  ],
  ['a pattern of models', 'fixture', "match: { model: 'openai/*', turn: 1 }\nreply: { content: x }\n"],
  ['a pattern of everything', 'fixture', "match: { model: '*', turn: 2 }\nreply: { content: x }\n"],
  ['a pattern of providers', 'fixture', "match: { model: '*/gpt-4o', turn: 3 }\nreply: { content: x }\n"],
  ['a provider that the settings name', 'fixture', 'match: { model: mine/small, turn: 4 }\nreply: { content: x }\n'],
  ['a model without its provider in a rule', 'scenario', rule('{ model: gpt-4o }')],
  ['a model with a slash in a rule', 'scenario', rule('{ model: meta-llama/Llama-3.3-70B }')],
  ['a pattern of providers in a rule', 'scenario', rule("{ provider: 'open*' }")],
  ['a provider of the settings in a rule', 'scenario', rule('{ provider: mine }')],
  ['a pattern of operations', 'scenario', rule("{ operation: 'chat.*' }")],
  [
    'an operation of the workspace',
    'scenario',
    'name: a\nrules:\n  - { name: r, at: workspace, match: { operation: getDataset }, fault: { type: http-error, status: 503 } }\n',
  ],
]

const FOLDERS = { fixture: 'fixtures/chat.completions', any: 'fixtures', scenario: 'scenarios' }
const rows = [...names, ...mistakes]
const fileOf = (kind: keyof typeof FOLDERS, index: number) => `${FOLDERS[kind]}/${String(index).padStart(2, '0')}.yaml`
const broken = folderWith(Object.fromEntries(rows.map(([, kind, text], index) => [fileOf(kind, index), text])))
const sound = folderWith({
  'mine.yaml': 'providers: { mine: { base_url: "http://127.0.0.1:9/v1" } }\n',
  ...Object.fromEntries(fine.map(([, kind, text], index) => [fileOf(kind, index), text])),
})
let lines: string[] = []
beforeAll(async () => {
  // All mistakes of all files are said at once.
  const { code, stderr } = await runCommand(['check'], { cwd: broken.path })
  expect(code).toBe(2)
  lines = stderr.split('\n').map((line) => line.replace(/^understudy: /, ''))
})
afterAll(() => {
  broken.remove()
  sound.remove()
})
const saidOf = (kind: keyof typeof FOLDERS, index: number) => {
  const place = `${fileOf(kind, index)}:`
  return lines.filter((line) => line.startsWith(place)).map((line) => line.slice(place.length))
}

describe('check of names', () => {
  test.each(rows.map((row, index) => [row[0], row, index] as const))('reports %s', (_, [, kind, , said], index) => {
    const [line, ...more] = saidOf(kind, index)
    expect(more).toEqual([])
    if (typeof said === 'string') expect(line).toStartWith(said)
    else expect(line).toMatch(said)
  })
})

test('check: accepts valid names', async () => {
  const { code, stdout, stderr } = await runCommand(['check', '--config', 'mine.yaml'], { cwd: sound.path })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('no such') })
  expect(stdout).toStartWith('5 fixtures, 6 scenarios, ')
})
