// The pages on scenario files: the types of faults, the keys, and the findings.

import { stringify } from 'yaml'
import type { FaultKind } from '../../contract/core/fault.ts'
import { Finding, FindingKind } from '../../contract/core/finding.ts'
import { faultGroups, faultKinds } from '../../faults/index.ts'
import { Expectation, Needs, Rule, RuleMatch, ScenarioFile } from '../../scenarios/schema.ts'
import { block, code, keyTable, page, sentence, table } from './markdown.ts'

/** How the types of values that have names are written. */
export const TYPES_OF_VALUES = table(
  ['type', 'written as'],
  [
    ['duration', '`300ms`, `2s`, `5m`, `1h`, or a number of milliseconds'],
    ['number or range', '`2`, `1-3`, or `2+` for two and more'],
    ['amount or range', '`0-0.02`, or `0.01+` for one cent and more, in USD'],
    [
      'text match',
      'a text that must be equal, or a mapping with one of `equals`, `contains` and `regex`, and optionally `ignore_case` (`true` or `false`)',
    ],
  ],
)

/** A scenario with one rule for a type of fault. */
function exampleOf({ type, points, example }: FaultKind): string {
  const [usual] = points
  const at = usual === 'provider' ? {} : { at: usual }
  const scenario = { name: type, rules: [{ name: type, ...at, fault: { type, ...example } }] }
  return block('yaml', `# scenarios/${type}.yaml\n${stringify(scenario)}`)
}

/** Every type of fault, with its parameters and an example. */
export const faultsPage = (): string =>
  page(
    'Fault types',
    `A fault is what a rule of a scenario does to a call. This page lists all ${faultKinds.length} types with their parameters and an example each.`,
    block('sh', 'understudy check scenarios\nunderstudy rehearse scenarios/http-error.yaml'),
    'Put an example into the file that its first line names. [Scenarios and faults](../scenarios.md) explains rules; [Scenario files](scenario-files.md) lists the other keys.',
    ...faultGroups.map(({ title, kinds }) =>
      [
        `**${title}**`,
        table(
          ['type', 'effect'],
          kinds.map(({ type, summary }) => [`[${code(type)}](#${type})`, summary]),
        ),
      ].join('\n\n'),
    ),
    ...faultKinds.map((kind) =>
      [
        `## ${kind.type}`,
        kind.summary,
        exampleOf(kind),
        `Where (${code('at')}): ${kind.points.map((point, index) => `${code(point)}${index === 0 && kind.points.length > 1 ? ' (default)' : ''}`).join(', ')}.`,
        keyTable(kind.options, { key: 'parameter' }) || 'It has no parameters.',
      ].join('\n\n'),
    ),
    '## Limits of faults',
    'A fault applies to what it can change: a stream fault needs a stream. The report of a run says why a fault was not injected. A duration is written as `300ms`, `2s`, `5m` or `1h`.',
  )

const SCENARIO = `# scenarios/second-stream-cut.yaml
name: second-stream-cut
rules:
  - name: cut the second stream
    match: { operation: chat.completions, stream: true }
    when: { calls: 2 }
    fault: { type: cut-stream, after_chunks: 5 }
expect:
  - { rule: cut the second stream, attempts: 1 }`

/** Every key of a scenario file. */
export const scenarioFilesPage = (): string =>
  page(
    'Scenario files',
    'A scenario file has rules, which inject faults, or expectations, or both. This page lists every key.',
    block('yaml', SCENARIO),
    '[Scenarios and faults](../scenarios.md) is the guide. `understudy schema scenario` prints the same as JSON Schema, for your editor.',
    '## Keys of the file',
    keyTable(ScenarioFile),
    '## Rules',
    keyTable(Rule),
    '`fault` is a mapping with `type` and the parameters of that type; see [Fault types](faults.md).',
    '## match: which attempts',
    'Every key must match.',
    keyTable(RuleMatch),
    '## when: which of the matching attempts',
    'Every key must hold.',
    keyTable(Rule.shape.when, { depth: 2 }),
    '## expect: what must have happened',
    'An expectation has one number of something, a cost, an order, or a condition on waits. The other keys say what is counted; without a number, at least one.',
    keyTable(Expectation, { depth: 2 }),
    '## needs: calls that a conclusive verdict requires',
    'Without them, the verdict is inconclusive.',
    keyTable(Needs),
    '## Types of values',
    TYPES_OF_VALUES,
    '## Limits of scenario files',
    'A scenario has at most 1,000 rules and 1,000 expectations. [Limits of YAML](../scenarios.md#limits-of-scenario-files) apply.',
  )

/** The meaning of each finding, from the description of all of them. */
function findingMeanings(): Record<string, string> {
  const text = FindingKind.description ?? ''
  const starts = FindingKind.options.map((kind) => ({ kind, at: text.search(new RegExp(`(?:^|\\s)${kind}: `)) }))
  const sorted = starts.toSorted((one, other) => one.at - other.at)
  const meaningAt = (at: number, next: number | undefined) =>
    text
      .slice(at, next)
      .replace(/^\s*[\w-]+: /, '')
      .trim()
  return Object.fromEntries(
    sorted.map(({ kind, at }, index) => [kind, at < 0 ? '' : meaningAt(at, sorted[index + 1]?.at)]),
  )
}

/** Every finding. */
export const findingsPage = (): string =>
  page(
    'Findings',
    'A finding is one thing that a client did wrong. This page lists every kind, and the keys of a finding in reports.',
    block('sh', 'understudy exec --scenario rate-limit-burst --json -- npm test'),
    '[Verdicts and findings](../verdicts.md) explains severities and when a finding is not reported. To ignore a kind under a scenario, write `accept: [gave-up]`.',
    '## Kinds of findings',
    table(
      ['kind', 'meaning'],
      Object.entries(findingMeanings()).map(([kind, meaning]) => [code(kind), sentence(meaning)]),
    ),
    '## Keys of a finding',
    keyTable(Finding, { io: 'output', meanings: { kind: 'What is wrong; see the table above.' } }),
    '## Limits of findings',
    'A run without findings is no proof that a client is correct. It means that nothing went wrong in the calls that were made.',
  )
