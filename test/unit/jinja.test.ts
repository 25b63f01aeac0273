// What templates of Jinja give, and that each filter and method is charged before it works.
import { expect, test } from 'bun:test'
import { jinjaRenderer } from '../../src/lib/jinja.ts'
import { templateBudget } from '../../src/lib/template-budget.ts'

const VALUES = { list: [3, 1, 2], text: 'a\nb', map: { b: 1, a: [2] }, items: [{ n: { x: 2 } }, { n: { x: 1 } }] }
const render = (template: string, limits = { steps: 100_000, characters: 100_000 }) =>
  jinjaRenderer(VALUES, templateBudget(limits))(template)

test.each([
  ['{{ list | join("-") }}', '3-1-2'],
  ['{{ list | join(separator="+") }}', '3+1+2'],
  ['{{ text | indent(2) }}', 'a\n  b'],
  ['{{ "aXbXc" | replace("X", "--") }}', 'a--b--c'],
  ['{{ "aXbXc".replace("X", "-", 1) }}', 'a-bXc'],
  ['{{ "ab" | replace("", ".") }}', '.a.b.'],
  ['{{ "a b  c".split() | length }}', '3'],
  ['{{ "a,b".split(",") | last }}', 'b'],
  ['{{ list | sort | join }}', '123'],
  ['{{ items | map(attribute="n") | list | length }}', '2'],
  ['{% for key, value in map | dictsort %}{{ key }}{% endfor %}', 'ab'],
  ['{{ map | tojson }}', '{"b": 1, "a": [2]}'],
  ['{{ [1] | tojson(indent=1) }}', '[\n 1\n]'],
  ['{{ text | string | length }}', '3'],
  ['{{ text[0:1] }}{{ text["upper"]() }}', 'aA\nB'],
  ['{% filter upper %}x{{ list[0] }}{% endfilter %}', 'X3'],
  ['{% macro twice(a) %}{{ a }}{{ a }}{% endmacro %}{{ twice("x") }}', 'xx'],
  ['{% macro box() %}[{{ caller() }}]{% endmacro %}{% call box() %}y{% endcall %}', '[y]'],
  ['{{ range(4, 0, -2) | list | join(",") }}', '4,2'],
  ['{{ strftime_now("%Y") | length }}', '4'],
])('jinja: %s gives %p', (template, text) => {
  expect(render(template)).toBe(text)
})

test.each([
  ['{% if list %}', 'it ends within a statement'],
  ['{% for one in list %}{{ one }}', 'it ends within a statement'],
  ['{% set x %}', 'it ends within a statement'],
  ['{{', 'it ends within a statement'],
  ['{{ range("x") }}', 'range() takes numbers'],
  ['{{ range(1, 2, 0) }}', 'range() step must not be zero'],
  ['{{ strftime_now(1) }}', 'strftime_now() takes a text'],
  ['{{ raise_exception("no") }}', 'no'],
  ['{{ raise_exception(1) }}', 'raise_exception() was called'],
  ['{{ text | indent(100000) }}', 'an indent is at most'],
  ['{{ list | tojson(indent=100000) }}', 'an indent is at most'],
])('jinja: %s fails', (template, message) => {
  expect(() => render(template)).toThrow(message)
})

test.each([
  '{{ "a\\na\\na" | indent(600) }}',
  '{{ "aaaa" | replace("a", "b" ~ long) }}',
  '{{ [1, 2, 3, 4] | join(long) }}',
  '{{ [long, long, long] | tojson }}',
  '{{ [long, long, long] | string }}',
  '{{ [long, long, long] }}',
])('jinja: %s is stopped before it writes too much', (template) => {
  const values = { ...VALUES, long: 'y'.repeat(400) }
  const limited = (characters: number) =>
    jinjaRenderer(values, templateBudget({ steps: 100_000, characters }))(template)
  expect(limited(10_000).length).toBeGreaterThan(1_000)
  expect(() => limited(1_000)).toThrow('characters')
})
