// Prompt variables: `variables` and `svc.inputs`, in the three template engines, wherever a message has text.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, messageOf, refused, user, whole } from '../support/chat.ts'
import { withFreshMemory } from '../support/memory.ts'

const app = createTestApp({ fixtures: [FIXTURES] })
afterAll(app.close)

/** What the model is shown, by the fixture that gives the user's message back. */
async function shown(template: unknown, patch: object): Promise<string> {
  const messages = [{ role: 'system', content: 'echo' }, ...user(template).messages]
  return messageOf(await both(app, { messages, ...patch })).content ?? ''
}

const variables = {
  name: 'Ada',
  age: 36,
  admin: true,
  tags: ['a', 'b'],
  home: { city: 'London', 'zip.code': 'W1' },
  html: '<b>&"',
  'first-name': 'Augusta',
  money: '$& $1',
  nothing: null,
  nested: '{{age}}',
}

describe('variables in the text engine', () => {
  const rows: [string, string][] = [
    ['Hello {{name}}!', 'Hello Ada!'],
    ['{{ name }}{{name}}', 'AdaAda'],
    ['{{age}} {{admin}}', '36 true'],
    ['{{tags}} {{home}}', '["a","b"] {"city":"London","zip.code":"W1"}'],
    ['{{home.city}}', 'London'],
    ['{{first-name}}', 'Augusta'],
    ['{{html}} {{money}}', '<b>&" $& $1'],
    ['{{nested}}', '{{age}}'],
    ['{{unknown}} {{home.street}}', '{{unknown}} {{home.street}}'],
    [
      '{{constructor}} {{toString}} {{name.length}} {{__proto__}}',
      '{{constructor}} {{toString}} {{name.length}} {{__proto__}}',
    ],
    ['{name} {{}} {{ {{name}}', '{name} {{}} {{ Ada'],
    ['{{#if name}}', '{{#if name}}'],
  ]
  test.each(rows)('render %s', async (template, text) => {
    expect(await shown(template, { variables })).toBe(text)
    expect(await shown(template, { variables, template_engine: 'text' })).toBe(text)
  })

  test('stay as braces when no variables are given', async () => {
    expect(await shown('{{name}}', {})).toBe('{{name}}')
    expect(await shown('{{name}}', { variables: {} })).toBe('{{name}}')
    expect(await shown('{{name}}', { variables: null })).toBe('{{name}}')
  })
})

describe('variables in the mustache engine', () => {
  const rows: [string, string][] = [
    ['Hello {{name}}!', 'Hello Ada!'],
    ['{{html}} {{{html}}}', '<b>&" <b>&"'],
    ['{{#tags}}[{{.}}]{{/tags}}', '[a][b]'],
    ['{{^unknown}}none{{/unknown}}', 'none'],
    ['{{home.city}} {{#home}}{{city}}{{/home}}', 'London London'],
    ['{{unknown}}.', '.'],
    ['{{! a remark }}x', 'x'],
  ]
  test.each(rows)('render %s', async (template, text) => {
    expect(await shown(template, { variables, template_engine: 'mustache' })).toBe(text)
  })
})

describe('variables in the jinja engine', () => {
  const rows: [string, string][] = [
    ['Hello {{ name }}!', 'Hello Ada!'],
    ['{% for tag in tags %}[{{ tag }}]{% endfor %}', '[a][b]'],
    ['{% if admin %}yes{% else %}no{% endif %}', 'yes'],
    ['{{ home.city | upper }} {{ age + 1 }}', 'LONDON 37'],
    ['{{ html }}', '<b>&"'],
    ['{# a remark #}x', 'x'],
  ]
  test.each(rows)('render %s', async (template, text) => {
    expect(await shown(template, { variables, template_engine: 'jinja' })).toBe(text)
  })
})

describe('broken template', () => {
  const rows: [string, string][] = [
    ['jinja', '{% for x in %}'],
    ['jinja', '{{ 1 +'],
    ['mustache', '{{#open}}'],
    ['mustache', '{{name'],
  ]
  test.each(rows)('is rejected at its place by %s: %s', async (template_engine, template) => {
    const message = { role: 'user', content: 'fine' }
    const patch = { variables, template_engine }
    const error = await refused(app, { messages: [message, { ...message, content: template }], ...patch })
    expect(error).toMatchObject({ param: 'messages[1].content', code: 'invalid_template' })
    expect(error.message).toContain(template_engine)
    expect(error.message).toContain(template)
    const parts = [
      { type: 'text', text: 'fine' },
      { type: 'text', text: template },
    ]
    expect((await refused(app, { ...user(parts), ...patch })).param).toBe('messages[0].content[1].text')
  })

  test('is plain text in the text engine', async () => {
    expect(await shown('{% for {{name}}', { variables })).toBe('{% for Ada')
  })
})

describe('template that takes too much', () => {
  withFreshMemory()
  const list = Array.from({ length: 100 }, (_, index) => index)
  const nested = (open: string, close: string) => `${open.repeat(6)}x${close.repeat(6)}`
  const rows: [string, string, string][] = [
    ['jinja', '{% for i in range(100000000) %}x{% endfor %}', 'steps'],
    ['jinja', nested('{% for i in list %}', '{% endfor %}'), 'steps'],
    ['jinja', `{% set x = 'a' %}${'{% set x = x ~ x %}'.repeat(40)}`, 'characters'],
    ['jinja', '{{ "a\nb" | indent(width=1000000000) }}', 'indent'],
    ['mustache', nested('{{#list}}', '{{/list}}'), 'steps'],
    ['text', '{{word}}'.repeat(1500), 'characters'],
  ]
  test.each(rows)('is rejected at its place by %s: %p', async (template_engine, template, reason) => {
    const message = { role: 'user', content: 'fine' }
    const values = { list, word: 'x'.repeat(20_000) }
    const patch = { variables: values, template_engine }
    const error = await refused(app, { messages: [message, { ...message, content: template }], ...patch })
    expect(error).toMatchObject({ param: 'messages[1].content', code: 'invalid_template' })
    expect(error.message).toContain(reason)
  })

  test('is rendered when it takes less', async () => {
    const template = '{% for i in range(5000) %}{{ i % 10 }}{% endfor %}'
    expect(await shown(template, { template_engine: 'jinja' })).toBe('0123456789'.repeat(500))
  })

  test('can use a variable with the name of an engine function', async () => {
    const patch = { variables: { range: 4 }, template_engine: 'jinja' }
    expect(await shown('{{ range }}', patch)).toBe('4')
    expect(await shown('{{ range(1, 6, 2) | join(",") }}', { template_engine: 'jinja' })).toBe('1,3,5')
  })
})

describe('svc.inputs', () => {
  test('accepts an object or a list with keys', async () => {
    expect(await shown('{{name}}', { svc: { inputs: { name: 'Ada' } } })).toBe('Ada')
    const inputs = [
      { key: 'name', value: 'Ada', is_pii: true },
      { key: 'age', value: 36 },
    ]
    expect(await shown('{{name}} {{age}}', { svc: { inputs } })).toBe('Ada 36')
  })

  test('works in every engine, and variables win field by field', async () => {
    const svc = { inputs: { name: 'Grace', age: 85 } }
    for (const template_engine of ['text', 'jinja', 'mustache']) {
      const patch = { svc, variables: { name: 'Ada' }, template_engine }
      expect(await shown('{{name}} {{age}}', patch)).toBe('Ada 85')
    }
  })
})

test('variables: are rendered in every role and text part, and nowhere else', async () => {
  const url = 'http://x.invalid/{{name}}.png'
  const content = [
    { type: 'text', text: '{{name}}: ' },
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: '{{age}}' },
  ]
  const messages = [
    { role: 'system', content: '{{word}}' },
    { role: 'assistant', content: '{{name}}' },
    ...user(content).messages,
  ]
  const { completion, answer } = await whole(app, { messages, variables: { ...variables, word: 'echo' } })
  expect(messageOf(completion).content).toBe('Ada: 36')
  const trace = await app.traceOf(answer)
  expect(trace.attachments).toEqual([{ kind: 'image', name: url }])
  expect(trace.request).toMatchObject({ messages })
})

test('variables: are counted as rendered text', async () => {
  const long = { text: 'word '.repeat(100) }
  const tokens = async (patch: object) => (await whole(app, patch)).completion.usage.prompt_tokens
  expect(await tokens({ ...user('{{text}}'), variables: long })).toBe(await tokens(user(long.text)))
})

const wrong: [string, object, string][] = [
  ['variables that are a list', { variables: ['x'] }, 'variables'],
  ['inputs that are text', { svc: { inputs: 'x' } }, 'svc.inputs'],
  ['an input without a key', { svc: { inputs: [{ value: 1 }] } }, 'svc.inputs[0].key'],
  ['an unknown engine', { template_engine: 'erb' }, 'template_engine'],
  ['a stored prompt', { svc: { prompt: { id: 'p1', version: 'latest' } } }, 'svc.prompt'],
  ['a stored prompt by name', { svc: { prompt: 'p1' } }, 'svc.prompt'],
]
test.each(wrong)('variables: reject %s', async (_, patch, param) => {
  expect((await refused(app, patch)).param).toBe(param)
})

test('stored prompt: is rejected with an alternative', async () => {
  const { message } = await refused(app, { svc: { prompt: { id: 'p1' } } })
  expect(message).toContain('not emulated')
  expect(message).toContain('send their messages instead')
  await whole(app, { svc: { prompt: null } })
})
