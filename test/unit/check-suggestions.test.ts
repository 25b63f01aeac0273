// understudy check suggests what was probably meant: keys, choices, template names, models, and how YAML reads a text.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'
import type { Finished } from '../support/server.ts'

type Row = [mistake: string, kind: 'fixture' | 'scenario', text: string, said: string]

const fixture = (reply: string, match = 'user: hi') => `match: { ${match} }\nreply: ${reply}\n`
const rule = (rest: string, after = '') => `name: a\nrules:\n  - name: r\n    ${rest}\n${after}`
const fault = 'fault: { type: http-error, status: 503 }'

const refused: Row[] = [
  [
    'an unknown key of a reply',
    'fixture',
    fixture('{ contents: x }'),
    "2:10: reply.contents is not known (did you mean 'content'?); valid: content, ",
  ],
  [
    'an unknown key of a match',
    'fixture',
    fixture('{ content: x }', 'usr: hi'),
    "1:10: match.usr is not known (did you mean 'user'?); valid: ",
  ],
  [
    'an unknown key of a fixture',
    'fixture',
    'matches: { user: hi }\nreply: { content: x }\n',
    "1:1: matches is not known (did you mean 'match'?); valid: ",
  ],
  [
    'an invalid choice',
    'fixture',
    fixture('{ content: x, finish_reason: stopp }'),
    '2:22: reply.finish_reason must be one of "stop", ',
  ],
  [
    'an invalid choice, with what was meant',
    'fixture',
    fixture('{ content: x, finish_reason: stopp }'),
    `got "stopp" (did you mean 'stop'?)`,
  ],
  [
    'an unknown template name',
    'fixture',
    fixture("{ content: '{{prompt.usr}}' }"),
    "which is not defined (did you mean 'prompt.user'?); valid: ",
  ],
  [
    'a filter in a template',
    'fixture',
    fixture("{ content: '{{call.model | upper}}' }"),
    'reply.content has {{call.model | upper}}, which is not defined; valid: ',
  ],
  [
    'a template name without its root',
    'fixture',
    fixture("{ content: '{{user}}' }"),
    "{{user}}, which is not defined (did you mean 'prompt.user'?)",
  ],
  [
    'a capture without its root',
    'fixture',
    fixture("{ content: '{{city}}' }", "user: { regex: '(?<city>.*)' }"),
    "{{city}}, which is not defined (did you mean 'captures.city'?)",
  ],
  [
    'a number that is a text',
    'fixture',
    fixture('{ content: x }', 'user: 42'),
    '1:10: match.user must be a string, or an object, got 42: in quotes it is a text',
  ],
  [
    'a YAML keyword',
    'fixture',
    fixture('{ content: true }'),
    '2:10: reply.content must be a string, got true: in quotes it is a text',
  ],
  [
    'an empty value',
    'fixture',
    'match:\n  user:\nreply: { content: x }\n',
    '2:3: match.user must be a string, or an object, got null: nothing stands after the colon',
  ],
  [
    'a comment',
    'fixture',
    'match:\n  user: #hi\nreply: { content: x }\n',
    '2:3: match.user must be a string, or an object, got null: what begins with # is a comment, unless it stands in quotes',
  ],
  [
    'a colon without a space',
    'fixture',
    'match:\n  user:hi\nreply: { content: x }\n',
    '1:1: match must be an object, got "user:hi": a key ends with a colon and a space',
  ],
  ['an empty file', 'fixture', '# match: { user: hi }\n', ': the file is empty: write a fixture, or delete the file'],
  [
    'an unclosed quotation mark, where it begins',
    'fixture',
    'match:\n  user: "hi\nreply:\n  content: x\n',
    '2:9: Missing closing "quote: a text that begins with a quotation mark must end with one',
  ],
  [
    'an invalid path',
    'fixture',
    fixture('{ content: x }', "body: { 'messages[0': hi }"),
    '1:18: match.body.messages[0 has a key that must be a path such as metadata.tier or messages[0].content',
  ],
  [
    'a path of another language',
    'fixture',
    fixture('{ content: x }', "body: { '$.model': hi }"),
    'must be a path such as metadata.tier',
  ],
  [
    'a path from the end',
    'fixture',
    fixture('{ content: x }', "body: { 'messages[-1].content': hi }"),
    'must be a path such as metadata.tier',
  ],
  ...[
    ['rate-limit', 'per: 1m', 'requests, tokens'],
    ['delay', 'distribution: normal', 'for, min, max, mean'],
  ].map(
    ([type, options, needed]): Row => [
      `a ${type} that does nothing`,
      'scenario',
      rule(`fault: { type: ${type}, ${options} }`),
      `4:5: rules[0].fault must have at least one of ${needed} for ${type}`,
    ],
  ),
  [
    'an unknown fault',
    'scenario',
    rule('fault: { type: http-eror, status: 503 }'),
    `got "http-eror" (did you mean 'http-error'?)`,
  ],
  [
    'a word with a known correction',
    'scenario',
    rule(fault, 'accept: [gave_up]\n'),
    `got "gave_up" (did you mean 'gave-up'?)`,
  ],
  [
    'an invalid clock',
    'scenario',
    rule(fault, 'clock: virtuel\n'),
    `5:1: clock must be one of "real", "virtual", got "virtuel" (did you mean 'virtual'?)`,
  ],
  [
    'an unknown key of a rule',
    'scenario',
    rule(`${fault}\n    whn: { calls: 1 }`),
    "5:5: rules[0].whn is not known (did you mean 'when'?); valid: ",
  ],
  [
    'a rule without a fault',
    'scenario',
    rule('match: { provider: openai }'),
    "3:5: rules[0].fault is required, unless the rule has 'when.sets'\n",
  ],
  [
    'a duplicate name',
    'scenario',
    rule(`${fault}\n  - name: r\n    ${fault}`),
    '5:5: rules[1].name must be unique, got "r"\n',
  ],
  [
    'a rule that lasts no time',
    'scenario',
    rule(`when: { for: 0s }\n    ${fault}`),
    '4:13: rules[0].when.for must be longer than 0, such as 10s, got "0s"\n',
  ],
  [
    'a phase that lasts no time',
    'scenario',
    rule(`when: { schedule: [{ phase: down, for: 0 }, { phase: healthy }] }\n    ${fault}`),
    'rules[0].when.schedule[0].for must be longer than 0, such as 10s, got 0\n',
  ],
  [
    'a phase that another one follows without its end',
    'scenario',
    rule(`when: { schedule: [{ phase: down }, { phase: healthy }] }\n    ${fault}`),
    'rules[0].when.schedule[0].for is required, since another phase follows\n',
  ],
  [
    'a recovery without an end',
    'scenario',
    rule(`when: { schedule: [{ phase: down, for: 10s }, { phase: recovering }] }\n    ${fault}`),
    "rules[0].when.schedule[1].for is required, since a phase 'recovering' without an end never injects\n",
  ],
  [
    'a window that lasts no time',
    'scenario',
    rule('fault: { type: rate-limit, requests: 1, per: 0 }'),
    '4:45: rules[0].fault.per must be longer than 0, such as 10s, got 0\n',
  ],
  [
    'a stall that lasts no time',
    'scenario',
    rule('fault: { type: stall-stream, for: 0s }'),
    '4:34: rules[0].fault.for must be longer than 0, such as 10s, got "0s"\n',
  ],
  [
    'a header that no fault can set',
    'scenario',
    rule('fault: { type: http-error, status: 503, headers: { content-length: 5 } }'),
    'rules[0].fault.headers.content-length has a key that must be the name of a header that does not frame the body\n',
  ],
  [
    'a header that no client can read',
    'scenario',
    rule('fault: { type: http-error, status: 503, headers: { x-name: Zoë } }'),
    'rules[0].fault.headers.x-name must be visible ASCII of at most 1,000 characters, got "Zoë"\n',
  ],
  [
    'a need of no time',
    'scenario',
    rule(fault, 'needs: { elapsed: 0ms }\n'),
    'needs.elapsed must be longer than 0, such as 10s, got "0ms"\n',
  ],
  [
    'a scenario in place of a fixture, with a misspelled key',
    'fixture',
    `name: a\nrule:\n  - name: r\n    ${fault}\n`,
    "2:1: rule is a key of scenarios, not of fixtures (did you mean 'rules'?): put a scenario into a folder named scenarios, or name its file with --scenario\n",
  ],
  [
    'a rule in place of a fixture',
    'fixture',
    `- match: { model: gpt-4o }\n  ${fault}\n`,
    '2:3: [0].fault is a key of scenarios, not of fixtures: put a scenario into a folder named scenarios',
  ],
  [
    'an invalid path in a rule',
    'scenario',
    rule(`match: { body: { 'a..b': 1 } }\n    ${fault}`),
    'rules[0].match.body.a..b has a key that must be a path such as',
  ],
]

const warned: Row[] = [
  [
    'a model with a letter too many',
    'fixture',
    fixture('{ content: x }', 'model: openai/gpt-4oo'),
    `1:10: match.model names the unknown model "openai/gpt-4oo" (did you mean 'openai/gpt-4o'?)`,
  ],
  [
    'a model with a letter too few',
    'fixture',
    fixture('{ content: x }', 'model: openai/gpt-4o-mni'),
    "(did you mean 'openai/gpt-4o-mini'?)",
  ],
  [
    'the beginning of a model pattern',
    'fixture',
    fixture('{ content: x }', "model: 'openai/gpt4*'"),
    "(did you mean 'openai/gpt-4",
  ],
  [
    'a dated model',
    'fixture',
    fixture('{ content: x }', 'model: anthropic/claude-3-5-sonet-20240620'),
    "(did you mean 'anthropic/claude-3-5-sonnet'?)",
  ],
  [
    'a model in a rule, without its provider',
    'scenario',
    rule(`match: { model: gpt-4oo }\n    ${fault}`),
    `4:14: rules[0].match.model names the unknown model "gpt-4oo" (did you mean 'gpt-4o'?)`,
  ],
  [
    'a model in an order',
    'scenario',
    rule(fault, 'expect:\n  - { order: [{ model: openai/gpt-4oo }, { provider: openai }] }\n'),
    'expect[0].order[0].model names the unknown model "openai/gpt-4oo"',
  ],
  [
    'an attempt before the first',
    'scenario',
    rule(`match: { attempt: 0 }\n    ${fault}`),
    '3:5: rules[0] "r" can never be triggered: attempts are counted from 1',
  ],
  [
    'an iteration before the first',
    'scenario',
    rule(`match: { iteration: 0 }\n    ${fault}`),
    '3:5: rules[0] "r" can never be triggered: iterations are counted from 1',
  ],
  [
    'an unknown state',
    'scenario',
    rule(`when: { sets: broken, requires: brokn }\n    ${fault}`),
    `3:5: rules[0] "r" can never be triggered: no rule sets the state "brokn" (did you mean 'broken'?)`,
  ],
]

/** Models of tomorrow and of others, which nobody misspelt. */
const innocent = [
  ...[
    'openai/gpt-4o',
    'openai/gpt-4o-2024-08-06',
    'openai/gpt-5.2',
    'openai/gpt-5.2-codex',
    'openai/gpt-6',
    'openai/o4',
    'openai/o3-pro',
  ],
  ...[
    "'openai/*'",
    "'*'",
    "'openai/gpt-4*'",
    "'*/gpt-4o'",
    'openai/ft:gpt-4o:acme',
    'openai/gpt-4o-search-preview',
    'ollama/llama3',
  ],
  ...[
    'anthropic/claude-sonnet-4-5-20250929',
    'anthropic/claude-haiku-4',
    'google/gemini-3-pro',
    'google/gemini-2.5-flash-lite',
  ],
  ...['cohere/command-r7b', 'xai/grok-4-fast', 'mistral/mistral-medium', 'groq/llama-3.3-70b', 'openai/gpt-image-1.5'],
]

describe('check', () => {
  const pathOf = (kind: string, index: number) =>
    kind === 'fixture' ? `${index}/chat.completions/x.yaml` : `scenarios/${index}.yaml`
  const filesOf = (folder: string, rows: Row[]) =>
    Object.fromEntries(rows.map(([, kind, text], index) => [`${folder}/${pathOf(kind, index)}`, text]))
  const models = innocent.map((model) => `- match: { model: ${model}, user: hi }\n  reply: { content: x }\n`).join('')
  const folder = folderWith({
    ...filesOf('refused', refused),
    ...filesOf('warned', warned),
    'innocent/chat.completions/x.yaml': models,
  })
  let results: Record<string, Finished> = {}
  beforeAll(async () => {
    const check = async (name: string) => [name, await runCommand(['check', name], { cwd: folder.path })] as const
    results = Object.fromEntries(await Promise.all(['refused', 'warned', 'innocent'].map(check)))
  }, 30_000)
  afterAll(folder.remove)

  const linesOf = (name: string, kind: string, index: number) => {
    const lines = results[name]?.stderr.replaceAll('\\', '/').split('\n') ?? []
    return lines.filter((line) => line.includes(`${name}/${pathOf(kind, index)}:`)).join('\n')
  }
  test.each(refused.map((row, index) => [...row, index] as const))('rejects %s', (_, kind, __, said, index) => {
    expect(results.refused?.code).toBe(2)
    expect(`${linesOf('refused', kind, index)}\n`).toContain(said)
  })

  test.each(warned.map((row, index) => [...row, index] as const))('warns about %s', (_, kind, __, said, index) => {
    expect(results.warned?.code).toBe(0)
    expect(linesOf('warned', kind, index)).toContain(said)
  })

  test('accepts unlisted models that are not misspelled', () => {
    expect(results.innocent?.code).toBe(0)
    expect(results.innocent?.stderr.split('\n').filter((line) => line.includes('no such model'))).toEqual([])
  })
})
