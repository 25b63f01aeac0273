// Templates that multiply: every filter, method and operator that grows a text is rejected before it does. Each runs until it has used up
// its budget, those that only take steps a tenth of it.
import { afterAll, describe, expect, test } from 'bun:test'
import { Template } from '@huggingface/jinja'
import { TEMPLATE_LIMITS } from '../../src/lib/template-budget.ts'
import { renderAll } from '../../src/lib/templates.ts'
import { endWorkers } from '../../src/workers/pool.ts'
import { testApps } from '../support/app.ts'
import { bodyOf, CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { shortJobs } from '../support/job-limits.ts'
import { withFreshMemory } from '../support/memory.ts'

const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  endWorkers()
})

const values = {
  word: 'x'.repeat(20_000),
  list: Array.from({ length: 100 }, (_, index) => index),
  items: Array.from({ length: 300 }, (_, index) => ({ name: `n${index}`, v: [index, { deep: true }] })),
  s: 'a b',
}
const doubled = `{% set a = [1, 1] %}${'{% set a = [a, a] %}'.repeat(40)}`
/** Steps for `often`, whose loops alone stay within them: work that is not counted would be done in full. */
const FEW_STEPS = { ...TEMPLATE_LIMITS, steps: 250_000 }
const often = (inner: string) => `{% for i in list %}{% for j in list %}${inner}{% endfor %}{% endfor %}`.repeat(2)
const blanks = ' '.repeat(60_000)

const JINJA: Record<string, readonly string[]> = {
  'indents and separators of JSON': [
    '{{ items|tojson(indent=2000000000) }}',
    '{{ items|tojson(indent=1000) * 1 }}{{ items|tojson(indent=1001) }}',
    '{{ [items, items, items, items, items, items, items]|tojson(indent=1000) }}',
    "{{ range(9000)|list|tojson(separators=[word, ':']) }}",
  ],
  'lists in lists': [
    `${doubled}{{ a }}`,
    `${doubled}{{ a|tojson }}`,
    `${doubled}{{ a|string|length }}`,
    `${doubled}{{ a|join }}`,
    `${doubled}{{ a ~ 'x' }}`,
    `${doubled}{{ a == 'x' }}`,
    `${doubled}{{ raise_exception(a) }}`,
    '{% set ns = namespace(x=1) %}{% set ns.x = ns %}{{ ns }}',
    `{% set ns = namespace(x=[1]) %}${'{% set ns.x = [ns.x, ns.x] %}'.repeat(40)}{{ ns }}`,
    `{% set ns = namespace(x=1) %}{% set b = [${'ns,'.repeat(2_000)}] %}{% set ns.x = word %}{{ b }}`,
  ],
  replacements: [
    "{{ word|replace('x', word) }}",
    "{{ word|replace('', word) }}",
    "{{ word.replace('x', word) }}",
    "{{ word['replace']('x', word) }}",
    "{% set f = word.replace %}{{ f('x', word) }}",
    "{% filter replace('x', word) %}{{ word }}{% endfilter %}",
    "{{ word|replace('x', word, count=5000) }}",
  ],
  joins: [
    '{{ word|join(word) }}',
    '{{ range(5000)|join(word) }}',
    '{{ range(5000)|join(separator=word) }}',
    "{% set k = {'separator': word} %}{{ range(5000)|join(**k) }}",
    '{% set k = [word] %}{{ range(5000)|join(*k) }}',
  ],
  'indents of lines': [
    '{% filter indent(100000000) %}a\nb{% endfilter %}',
    "{{ (word ~ word)|replace('x', '\n')|indent(1000, true, true) }}",
    '{{ word|indent(first=true, width=900000000) }}',
  ],
  'texts that double': [
    `{% set x = 'a' %}${'{% set x = x + x %}'.repeat(40)}`,
    `{% set x = 'a' %}${'{% set x = x ~ x %}'.repeat(40)}`,
    `{% set x = [word] %}${'{% set x = x + x %}'.repeat(40)}`,
  ],
  'loops and macros': [
    '{% for i in range(100000000) %}x{% endfor %}',
    '{% for i in range(0, 1, 0.00000001) %}x{% endfor %}',
    '{% macro f(n) %}{{ f(n) ~ f(n) }}{% endmacro %}{{ f(1) }}',
    often('{{ word }}'),
  ],
  'blanks and nesting': [`{{ s }}${blanks}{{ s }}`, `{{ s${blanks}}}`, `{%${blanks}%}`, `{{ ${'['.repeat(20_000)} }}`],
}
/** Work that is counted in steps alone. */
const STEPS: [what: string, engine: 'jinja' | 'mustache', template: string][] = [
  ...[
    "word.split('x')|length",
    'word[::2]|length',
    "strftime_now('%B')",
    "(word ~ 'z') in (word ~ word)",
    "items|sort(attribute='name')|length",
    'items|tojson|length',
    "items == 'x'",
    'items',
  ].map((inner): (typeof STEPS)[number] => [`${inner} in loops`, 'jinja', often(`{{ ${inner} }}`)]),
  [
    'a macro that calls itself twice',
    'jinja',
    '{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(25) }}',
  ],
  ['sections in sections', 'mustache', '{{#items}}{{#items}}{{#items}}{{items}}{{/items}}{{/items}}{{/items}}'],
]
const MUSTACHE: readonly string[] = [
  `{{s${blanks}}`,
  `{{{s${blanks}}`,
  `{{=<% %>=}}<%s${blanks}%`,
  '{{#list}}{{#list}}{{#list}}{{word}}{{/list}}{{/list}}{{/list}}',
  `{{#items}}{{#items}}{{${'a.'.repeat(10_000)}b}}{{/items}}{{/items}}`,
]
/** A row whose title is short. */
const rowOf = (engine: string, what: string, template: string) => ({
  engine,
  what: `${what}: ${template.replace(/\s+/g, ' ').slice(0, 80)}`,
  template,
})
const hostile = [
  ...Object.entries(JINJA).flatMap(([what, all]) => all.map((one) => rowOf('jinja', what, one))),
  ...MUSTACHE.map((one) => rowOf('mustache', 'tags', one)),
  ...['{{word}}'.repeat(5_000), '{{items}}'.repeat(5_000)].map((one) => rowOf('text', 'names', one)),
]

withFreshMemory()
test.each(hostile)(
  'heavy template, $engine: $what is rejected at its place',
  async ({ engine: template_engine, template }) => {
    const app = appWith()
    const answer = await app.post(CHAT, bodyOf({ ...user(template), variables: values, template_engine }))
    const { code, param } = errorOf(answer.text, 400)
    expect([answer.status, code, param]).toEqual([400, 'invalid_template', 'messages[0].content'])
  },
)

test('loops of the heavy templates: stay within the steps when they do nothing', async () => {
  const { problem } = await renderAll([often('{{ s[0] }}')], { engine: 'jinja', values }, FEW_STEPS)
  expect(problem).toBeUndefined()
})

test.each(STEPS)('heavy template: takes steps for %s', async (_, engine, template) => {
  const { problem } = await renderAll([template], { engine, values }, FEW_STEPS)
  expect(problem?.message).toBe('it takes more than 250000 steps')
})

test.each([
  ['the field of the only template', user(often("{{ items|sort(attribute='name')|length }}")), 'messages[0].content'],
  [
    'the field that has all templates',
    { messages: [1, 2].map(() => ({ role: 'user', content: often("{{ items|sort(attribute='name')|length }}") })) },
    'messages',
  ],
])(
  'heavy templates: name %s when their job is stopped at a limit',
  async (_, messages, param) => {
    const app = appWith({}, { jobLimits: shortJobs(50) })
    const answer = await app.post(CHAT, bodyOf({ ...messages, variables: values, template_engine: 'jinja' }))
    expect(errorOf(answer.text, 400)).toMatchObject({ code: 'invalid_template', param })
    expect(answer.text).toContain('the jinja templates take more than 0.05 s')
  },
  30_000,
)

test('a loop in a template: counts four steps for each item, since the library prepares all of them at once', async () => {
  const render = (items: number) =>
    renderAll([`{% for i in range(${items}) %}{% endfor %}`], { engine: 'jinja', values: {} }, FEW_STEPS)
  expect((await render(49_000)).problem).toBeUndefined()
  expect((await render(51_000)).problem?.message).toBe('it takes more than 250000 steps')
})

describe('limited jinja interpreter', () => {
  const rows: readonly string[] = [
    "{{ items[0].name }} {{ items[-1]['name'] }} {{ items[1:3]|map(attribute='name')|join(', ') }}",
    '{{ items[:2]|tojson }}\n{{ items[:2]|tojson(indent=2) }}',
    "{{ {'b': 1, 'a': [true, none]}|tojson(sort_keys=true, separators=[',', ':']) }}",
    "{{ s|upper }} {{ s.title() }} {{ s|replace('a', 'b') }} {{ s.split(' ')|length }} {{ s.split() }} {{ s[::-1] }}",
    "{{ s|replace('a', 'b', count=1) }} {{ s.replace('', '-') }} {{ 'a\nb'|indent }} {{ 'a\nb'|indent(2, true) }}",
    '{% filter upper %}{{ s }}{% endfilter %}',
    "{% macro say(name, end='!') %}{{ name }}{{ end }}{{ kwargs }}{{ varargs }}{% endmacro %}{{ say('Ada', x=1) }}{{ say('Bo', '?', 3) }}",
    '{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}in{% endcall %}',
    '{% set ns = namespace(count=0) %}{% for i in range(5) %}{% set ns.count = ns.count + i %}{% endfor %}{{ ns.count }}',
    '{% for i in range(10) if i is odd %}{{ loop.index }}:{{ i }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}',
    '{% for key, value in {"a": 1, "b": 2}|items %}{{ key }}={{ value }};{% endfor %}{% for k in [] %}x{% else %}empty{% endfor %}',
    "{{ 'a' in s }} {{ 'z' not in s }} {{ 1 in list }} {{ [1, 2] + [3] }} {{ 'n: ' ~ 1 + 2 }} {{ 2 ** 3 }} {{ 7 // 2 }} {{ 7 % 4 }}",
    "{{ s == 'a b' }} {{ list == list }} {{ none == undefined_name }} {{ undefined_name is defined }} {{ missing|default('d') }}",
    "{{ items|selectattr('name', 'equalto', 'n3')|list }} {{ [3, 1, 2]|sort }} {{ [3, 1]|sort(reverse=true) }} {{ {'b': 1}|dictsort }}",
    "{% if s and list %}yes{% elif s %}maybe{% else %}no{% endif %}{{ 'a' if s else 'b' }}{% set x %}block {{ s }}{% endset %}{{ x }}",
    "{{ list }} {{ {'a': {'b': [1.5, none, true]}} }} {{ true }} {{ none }} {{ 1.0 }} {{ -3 }}",
    '  {%- if true -%}  trimmed  {%- endif -%}  {# note #} end\n',
  ]
  test.each(rows)('renders %p as the library does', async (template) => {
    const { texts, problem } = await renderAll([template], { engine: 'jinja', values }, TEMPLATE_LIMITS)
    expect(problem).toBeUndefined()
    expect(texts).toEqual([new Template(template).render(values)])
  })

  test.each(['jinja', 'mustache', 'text'] as const)('leaves 10 MB without a tag unchanged: %s', async (engine) => {
    const text = 'A line that no engine has anything to do with.\n'.repeat(200_000)
    const { texts } = await renderAll([text], { engine, values }, TEMPLATE_LIMITS)
    expect(texts[0] === (engine === 'jinja' ? new Template('x\n').render({}) && text.slice(0, -1) : text)).toBe(true)
  })
})

test('evaluator prompt: is rejected when it repeats its text too often', async () => {
  const app = appWith()
  const prompt = '{{log.output}}'.repeat(5_000)
  const evaluator = {
    type: 'llm_eval',
    key: 'often',
    path: 'Default',
    model: 'openai/gpt-4o',
    prompt,
    output_type: 'boolean',
  }
  expect((await app.post('/v2/evaluators', evaluator)).status).toBe(200)
  const { status, text } = await app.post('/v2/evaluators/often/invoke', { output: values.word })
  expect(status).toBe(422)
  expect(errorOf(text, 422).message).toContain('more than 20000000 characters')
})

test('fixture template: is rejected for a run of blanks in a name', async () => {
  const fixtures = [
    { name: 'blank', match: { operation: 'chat.completions' }, reply: { content: `{{${' '.repeat(60_000)}` } },
  ]
  const { status, text } = await appWith().post('/_understudy/sessions', { name: 'blank', fixtures })
  expect(status).toBe(400)
  expect(text).toContain('must be a valid template')
})

test('fixture template: is rejected when it loops over the messages too often', async () => {
  const app = appWith()
  const content = `${'{{#call.messages}}'.repeat(5)}x${'{{/call.messages}}'.repeat(5)}`
  const fixture = { name: 'often', match: { operation: 'chat.completions' }, reply: { content } }
  const put = await app.fetch('/s/often/_understudy/sessions/often', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fixtures: [fixture] }),
  })
  expect([200, 201]).toContain(put.status)
  const messages = Array.from({ length: 100 }, () => ({ role: 'user', content: 'Hi' }))
  const answer = await app.post(`/s/often${CHAT}`, bodyOf({ messages }))
  expect(answer.status).toBe(422)
  expect(errorOf(answer.text, 422).code).toBe('reply_too_long')
})
