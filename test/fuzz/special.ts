// Bodies that are hostile in what they mean, not in their form: YAML, patterns, snapshots, schemas, templates and
// documents.
import { hostileCutting, seedOfDocuments } from './documents.ts'
import type { Chance } from './random.ts'

const FAULT = { type: 'http-error', status: 429 }
const busy = (more: string) =>
  `name: busy\nrules:\n  - name: often\n    fault: { type: http-error, status: 429 }\n${more}`

/** Texts of YAML that refer to themselves, repeat themselves, or go on and on. */
function hostileYaml(chance: Chance): string {
  const many = chance.pick([3, 60, 900, 9_000])
  return chance.pick([
    'rules: &r [*r]',
    '&all\nname: *all',
    `a0: &a0 [x]\n${Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(5)}]`).join('\n')}`,
    `a: &a 1\nb: [${'*a,'.repeat(many)}]`,
    '? '.repeat(many),
    '- '.repeat(many),
    `name: ${'['.repeat(many)}${chance.oneIn(2) ? '' : ']'.repeat(many)}`,
    Array.from({ length: many }, (_, n) => `k${n}: v`).join('\n'),
    busy('name: quiet\n'),
    busy('a: &a { x: 1 }\nb: { <<: *a }\n'),
    busy('x: !!binary "aGk="\n'),
    busy(`  - { name: ${'x'.repeat(many)}, match: { model: "${'*a'.repeat(many)}*b" }, fault: { type: reset } }\n`),
    `---\n${busy('')}---\n`,
    `# ${'x'.repeat(300_000)}\n${busy('')}`,
  ])
}

/** Expressions that a backtracking engine needs 2^n steps for, or far more memory than their size. */
const hostileRegex = (chance: Chance): string =>
  chance.pick([
    '^(a+)+$',
    '^(?:a|aa)+$',
    '(x+x+)+y',
    '^(?:\\w+\\s?)*$',
    '^(?=(?:a+)+$)',
    '^(?:(?<x>a+)+)+\\k<x>!$',
    '(?:a{0,50}){0,50}b',
    '(?:a{1000}){1000}',
    '.*.*.*x',
    '(?<a>',
    '\\p{L}+\\p{Nope}',
  ])
const hostileGlob = (chance: Chance): string => chance.pick([`${'*a'.repeat(60)}*b`, '*'.repeat(500), '*o*p*e*n*'])
const textMatch = (chance: Chance) => ({ regex: hostileRegex(chance), ignore_case: chance.oneIn(2) })
/** What such expressions do not match after long work. */
const longText = (chance: Chance): string =>
  `${chance.pick(['a', 'x', 'word ', 'ab']).repeat(chance.pick([30, 5_000]))}!`

const hostileFixture = (chance: Chance) => ({
  match: {
    operation: chance.pick(['chat.completions', 'embeddings', 'tools']),
    ...(chance.oneIn(2) ? { user: textMatch(chance) } : { model: hostileGlob(chance) }),
    ...(chance.oneIn(3) && { header: { 'user-agent': textMatch(chance) } }),
  },
  reply: { content: 'x' },
})
const hostileScenario = (chance: Chance) => ({
  name: 'patterns',
  rules: Array.from({ length: chance.pick([1, 5, 1_500]) }, (_, index) => ({
    name: `r${index}`,
    match: chance.oneIn(2) ? { text: textMatch(chance) } : { path: hostileGlob(chance) },
    fault: FAULT,
  })),
})

const WRONG: readonly unknown[] = [null, 1e300, 'x', [], {}, true, -1]
/** A snapshot with rows that are wrong somewhere. */
function hostileSnapshot(chance: Chance): object {
  const record = {
    ...{ id: 'x', session: 'x', operation: 'chat.completions', name: 'x', model: null, stream: false, status: 200 },
    ...{ outcome: 'succeeded', started_at: '2026-01-01T00:00:00.000Z', duration_ms: 1, plan: [], attempts: [] },
    [chance.pick(['faults', 'plan', 'attempts', 'error', 'started_at', 'usage', 'cache'])]: chance.pick(WRONG),
  }
  const texts = { request: '{}', rendered: 'null', answer: 'null' }
  const trace = { seq: 1, started: 1, model: null, status: 200, record, ...texts }
  const row = { seq: 1, kind: 'dataset', id: 'x', workspace: 'x', parent: '', key: null, body: { _id: 'x' } }
  const table = chance.pick(['traces', 'records', 'kept', 'vectors', 'blobs', 'sqlite_sequence', 'long_texts'])
  const whole = table === 'traces' ? trace : row
  const changed = { ...whole, [chance.pick(Object.keys(whole))]: chance.pick(WRONG) }
  return { understudy_snapshot: 1, tables: { [table]: [chance.oneIn(2) ? whole : changed] } }
}

/** A schema whose references double at each level, and other texts that a call is made with. */
function hostileChat(chance: Chance): object {
  const levels = chance.pick([3, 30, 60])
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, n) => [
      `a${n}`,
      { anyOf: [{ $ref: `#/$defs/a${n + 1}` }, { $ref: `#/$defs/a${n + 1}` }] },
    ]),
  )
  const schema = { $ref: '#/$defs/a0', $defs: { ...$defs, [`a${levels}`]: { type: 'string' } } }
  const content = chance.pick([
    longText(chance),
    '{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}',
    '{{ x | tojson(indent=2000000000) }}',
    "{{ ('x' * 1000000) | replace('x', 'y' * 1000) }}",
  ])
  return {
    model: 'openai/gpt-4o',
    messages: [{ role: 'user', content }],
    ...(chance.oneIn(2) && { variables: { x: [1] }, template_engine: 'jinja' }),
    ...(chance.oneIn(3) && { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }),
  }
}

type Make = (chance: Chance, files: readonly string[]) => unknown
const BODIES: Record<string, Make> = {
  '/_understudy/scenario': (chance) => (chance.oneIn(2) ? { text: hostileYaml(chance) } : hostileScenario(chance)),
  '/_understudy/scenario/check': (chance) => ({ text: hostileYaml(chance) }),
  '/_understudy/seed': (chance) =>
    chance.oneIn(2) ? { yaml: hostileYaml(chance) } : { name: 'hostile', ...seedOfDocuments(chance) },
  '/_understudy/fixtures': (chance) => Array.from({ length: chance.pick([1, 3, 200]) }, () => hostileFixture(chance)),
  '/_understudy/snapshot': hostileSnapshot,
  '/v2/router/chat/completions': hostileChat,
  '/v2/knowledge/{knowledge_id}/datasources': (chance, files) =>
    files.length > 0 ? { file_id: chance.pick(files), chunking_options: hostileCutting(chance) } : {},
}
/** How many of the calls of such a path are hostile in this way: one in so many. */
const RARITY = 3

/** A body for a path that is hostile in what it means; undefined for most. `files` are the ids of files that can be read. */
export function specialBody(path: string, chance: Chance, files: readonly string[]): unknown {
  const make = Object.hasOwn(BODIES, path) ? BODIES[path] : undefined
  return make && chance.oneIn(RARITY) ? make(chance, files) : undefined
}
