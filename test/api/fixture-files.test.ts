// Errors in fixture files, each with its place and what is valid; and fixtures that can never answer.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { fixtureSubjects } from '../../src/endpoints/index.ts'
import { createTestApp } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const subjects = fixtureSubjects

const reply = 'reply: { content: x }'
/** A file, and every line that is said of it: where, and its beginning. */
const mistakes: [string, string, string, [string, string][]][] = [
  ['an empty file', 'empty.yaml', '', [['1:1', 'the file is empty: write a fixture, or delete the file']]],
  ['a text', 'text.yaml', 'hello', [['1:1', 'the fixture must be an object, got "hello"']]],
  [
    'a missing reply',
    'no-reply.yaml',
    'match: { user: hi }',
    [['1:1', "the fixture must have exactly one of 'reply' and"]],
  ],
  [
    'two types of reply',
    'two.yaml',
    `${reply}\nreplies: [{ content: y }]`,
    [['1:1', 'the fixture must have exactly one']],
  ],
  [
    'an unknown key',
    'key.yaml',
    `# A comment.\nmatches: {}\n${reply}`,
    [['2:1', "matches is not known (did you mean 'match'?); valid: name, match, "]],
  ],
  [
    'unknown keys of match',
    'match.yaml',
    `match:\n  usr: hi\n  modle: openai/*\n${reply}`,
    [
      ['2:3', "match.usr is not known (did you mean 'user'?); valid: operation, model, user, system, "],
      ['3:3', "match.modle is not known (did you mean 'model'?); valid: operation, model, user, system, "],
    ],
  ],
  [
    'a wrong type',
    'type.yaml',
    `match: { tools: look, stream: maybe, turn: 0 }\n${reply}`,
    [
      ['1:10', 'match.tools must be an array, got "look"'],
      ['1:23', 'match.stream must be a boolean, got "maybe"'],
      ['1:38', 'match.turn must be at least 1, got 0'],
    ],
  ],
  [
    'a text match of two types',
    'kinds.yaml',
    `match:\n  user:\n    equals: a\n    contains: b\n${reply}`,
    [['2:3', "match.user must have exactly one of 'equals', 'contains' and 'regex', got "]],
  ],
  [
    'a text match that is a number',
    'number.yaml',
    `match: { user: 5 }\n${reply}`,
    [['1:10', 'match.user must be a string, or an object, got 5']],
  ],
  [
    'a broken regex',
    'regex.yaml',
    `match: { user: { regex: '(' } }\n${reply}`,
    [['1:18', 'match.user.regex must be a regular expression: missing ), got "("']],
  ],
  [
    'an unknown operation',
    'operation.yaml',
    `match: { operation: chat }\n${reply}`,
    [['1:10', 'match.operation must be one of chat.completions']],
  ],
  [
    'a reply without content',
    'nothing.yaml',
    'reply: { reasoning: hm }',
    [['1:1', "reply must have at least one of 'content', 'tool_calls' and 'refusal', got "]],
  ],
  [
    'an unknown key of a reply',
    'reply.yaml',
    'reply: { content: x, colour: red }',
    [
      [
        '1:22',
        'reply.colour is not known; valid: content, tool_calls, refusal, audio, reasoning, finish_reason, usage, timing',
      ],
    ],
  ],
  ['an empty list of replies', 'none.yaml', 'replies: []', [['1:1', 'replies must be at least 1 item, got []']]],
  [
    'an invalid finish reason',
    'finish.yaml',
    'reply: { content: x, finish_reason: done }',
    [['1:22', 'reply.finish_reason must be one of "stop", "length", ']],
  ],
  [
    'an invalid duration',
    'timing.yaml',
    'reply:\n  content: x\n  timing:\n    first_token: soon\n    tokens_per_second: 0',
    [
      ['4:5', 'reply.timing.first_token must be a duration such as 300ms or 2s, got "soon"'],
      ['5:5', 'reply.timing.tokens_per_second must be more than 0, got 0'],
    ],
  ],
  [
    'a broken template',
    'template.yaml',
    'replies:\n  - content: fine\n  - tool_calls:\n      - { name: look, arguments: { city: "{{#captures}}x" } }',
    [['4:36', 'replies[1].tool_calls[0].arguments.city must be a valid template (Unclosed section "captures"']],
  ],
  [
    'an error in the second fixture of a list',
    'list.yaml',
    `- ${reply}\n- ${reply}\n  match: { user: { contain: hi } }`,
    [
      [
        '3:20',
        "[1].match.user.contain is not known (did you mean 'contains'?); valid: equals, contains, regex, ignore_case",
      ],
      ['3:12', '[1].match.user must have exactly one of'],
    ],
  ],
  ['JSON', 'json.json', '{\n  "reply": { "content": 5 }\n}', [['2:14', 'reply.content must be a string, got 5']]],
  ['broken JSON', 'broken.json', '{ "reply": ', [['1:12', 'Flow map must end with a }']]],
  ['broken YAML', 'broken.yaml', `match: { user: "hi }\n${reply}`, [['1:16', 'Missing closing "quote']]],
  ['a duplicate key', 'twice.yaml', `match: {}\nmatch: {}\n${reply}`, [['2:1', 'Map keys must be unique']]],
  ['an unknown tag', 'tag.yaml', 'reply: { content: !secret x }', [['1:19', 'Unresolved tag: !secret']]],
  ['an alias without an anchor', 'alias.yaml', 'reply: *other', [['1:8', 'Unresolved alias']]],
]

describe('invalid fixture file', () => {
  const files = Object.fromEntries(mistakes.map(([, name, text]) => [`chat.completions/${name}`, text]))
  const folder = folderWith({
    ...files,
    'chat.completions/good.yaml': reply,
    'chat.completions/README.md': '# Not one',
  })
  const other = folderWith({ 'chats/stray.yaml': reply })
  afterAll(folder.remove)
  afterAll(other.remove)
  let lines: string[] = []
  let code = 0
  let stdout = ''
  beforeAll(async () => {
    const finished = await runCommand(['check', '.', `${other.path}/chats/stray.yaml`], { cwd: folder.path })
    lines = finished.stderr.trimEnd().split('\n')
    code = finished.code
    stdout = finished.stdout
  })

  test('is reported with all errors at once, a line each, and exit code 2', () => {
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    // One more is the stray file.
    expect(lines.length).toBe(mistakes.flatMap(([, , , said]) => said).length + 1)
    for (const line of lines) expect(line).toStartWith('understudy: ')
  })
  test.each(mistakes)('is reported with its place: %s', (_, name, __, said) => {
    const own = lines.filter((line) => line.startsWith(`understudy: chat.completions/${name}:`))
    expect(own.length).toBe(said.length)
    for (const [place, message] of said) {
      const prefix = `understudy: chat.completions/${name}:${place === '' ? '' : `${place}:`} ${message}`
      expect(own.some((line) => line.startsWith(prefix)) ? prefix : own.join('\n')).toBe(prefix)
    }
  })
  test('is reported for a folder that is not an operation', () => {
    const valid = subjects.map(({ name }) => name).join(', ')
    expect(lines.find((line) => line.includes('stray.yaml'))).toEndWith(
      `stray.yaml:1:1: the fixture is in the folder "chats", which is not an operation; valid: ${valid}; or give match.operation`,
    )
  })
  test('prevents serve from starting with the same report', async () => {
    const served = await runCommand(['serve', '--port', '0', '--fixtures', '.'], { cwd: folder.path })
    expect(served).toEqual({ code: 2, stdout: '', stderr: `${lines.slice(0, -1).join('\n')}\n` })
  })
})

/** Two matches, and whether the first leaves nothing for the second. */
const shadows: [string, object, object, boolean][] = [
  ['an empty match first', {}, { user: 'hi' }, true],
  ['the same match first', { user: 'hi', turn: 1 }, { turn: 1, user: 'hi' }, true],
  ['a wider model first', { model: 'openai/*' }, { model: 'openai/gpt-*' }, true],
  ['a narrower model first', { model: 'openai/gpt-4*' }, { model: 'openai/*' }, false],
  ['a condition first that the second lacks', { stream: true }, {}, false],
  ['fewer conditions first', { model: 'openai/*' }, { model: 'openai/gpt-4o', user: 'hi' }, true],
  ['other conditions first', { model: 'openai/*', turn: 1 }, { model: 'openai/gpt-4o', user: 'hi' }, false],
  ['a part of the text first', { user: { contains: 'ell' } }, { user: 'hello' }, true],
  ['a part of the part first', { user: { contains: 'ell' } }, { user: { contains: 'hello' } }, true],
  ['a longer part first', { user: { contains: 'hello' } }, { user: { contains: 'ell' } }, false],
  [
    'another case first, ignored',
    { user: { contains: 'ELL', ignore_case: true } },
    { user: { contains: 'hello' } },
    true,
  ],
  [
    'one case first, of several',
    { user: { contains: 'ell' } },
    { user: { contains: 'hello', ignore_case: true } },
    false,
  ],
  ['the same text first, in another form', { user: 'hi' }, { user: { equals: 'hi' } }, true],
  ['the same text first, in any case', { user: { equals: 'HI', ignore_case: true } }, { user: 'hi' }, true],
  ['a regex first that matches the text', { user: { regex: '^h' } }, { user: 'hi' }, true],
  ['a regex first that does not match the text', { user: { regex: '^x' } }, { user: 'hi' }, false],
  ['a regex first, then a part', { user: { regex: 'h' } }, { user: { contains: 'h' } }, false],
  ['fewer tools first', { tools: ['a'] }, { tools: ['a', 'b'] }, true],
  ['more tools first', { tools: ['a', 'b'] }, { tools: ['a'] }, false],
  ['fewer body fields first', { body: { seed: 1 } }, { body: { seed: 1, n: 2 } }, true],
  ['another body value first', { body: { seed: 1 } }, { body: { seed: 2 } }, false],
  ['a part of the system text first', { system: { contains: 'a' } }, { system: 'banana' }, true],
]
describe('fixture that can never answer', () => {
  test.each(shadows)(
    'is detected exactly when the first one matches all of its calls: %s',
    (_, first, second, hidden) => {
      const fixture = (match: object) => ({ match, reply: { content: 'x' } })
      const folder = folderWith({ 'chat.completions/two.json': [fixture(first), fixture(second)] })
      const app = createTestApp({ fixtures: [folder.path] })
      app.close()
      folder.remove()
      expect(app.understudy.warnings.length).toBe(hidden ? 1 : 0)
      if (hidden)
        expect(app.understudy.warnings[0]).toMatch(/two\[1\] can never match: .*two\[0\] \(.*:1:2\) is first$/)
    },
  )
})
