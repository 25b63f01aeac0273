// Cassettes as files: every byte of a response and every value of a request is read again as it was written.
import { afterAll, expect } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { cassetteFile } from '../../src/cassettes/names.ts'
import { readCassette } from '../../src/cassettes/read.ts'
import type { Interaction, RecordedAttempt } from '../../src/contract/core/cassette.ts'
import { character } from '../support/arbitrary.ts'
import { answered, chatInteraction, frame, newHeader, writeCassette } from '../support/cassettes.ts'
import { property, runs, test } from '../support/property.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

test('cassette: is a text for people', async () => {
  const limited: RecordedAttempt = {
    response: { status: 429, headers: [['retry-after', '1']], at: 20, frames: [frame(21, '{"error": {}}')] },
    end: 'complete',
    endedAt: 22,
  }
  const stream = answered(
    frame(120, 'data: {"a":1}\n\n'),
    frame(140, 'event: x\ndata: {"b":"\\n"}\n\ndata: {"c'),
    frame(150, '":2}\n\n'),
  )
  const { text } = await writeCassette(folder.path, newHeader('readable'), [
    chatInteraction(
      { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi.\nHow: are you?' }] },
      { turn: 2, attempts: [limited, stream] },
    ),
  ])
  expect(text).toBe(`# Recorded responses of providers, for replay with Understudy.
cassette: 1
session: readable
state: complete
recorded: "2026-11-26"
understudy: "0.1.0"
---
# chat.completions gpt-4o, turn 2: 429, then 200 in 3 frames
id: b0d01fe1
turn: 2
request:
  provider: openai
  operation: chat.completions
  model: gpt-4o
  path: /v1/chat/completions
  body:
    model: gpt-4o
    messages:
      - role: user
        content: |-
          Hi.
          How: are you?
attempts:
  - status: 429
    headers:
      - retry-after: "1"
    at: 20ms
    body: |
      +21ms {"error": {}}
    end: complete
    ended: 22ms
  - status: 200
    headers:
      - content-type: text/event-stream
    at: 10ms
    frames: |
      +120ms data: {"a":1}
      +140ms event: x
        data: {"b":"\\n"}

        data: {"c\\
      +150ms ":2}
    end: complete
    ended: 2000ms
`)
})

test('cassette: the one in the documentation is as it would be written', async () => {
  const page = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'cassette-files.md'), 'utf8')
  const [, shown = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
  writeFileSync(join(folder.path, 'checkout.yaml'), shown)
  const { interactions } = readCassette(join(folder.path, 'checkout.yaml'))
  const { text } = await writeCassette(join(folder.path, 'again'), newHeader('checkout'), interactions)
  const withoutFirst = (lines: string) => lines.slice(lines.indexOf('\n'))
  expect(withoutFirst(shown)).toBe(withoutFirst(text))
})

const byte = fc.oneof(
  fc.constantFrom(10, 10, 13, 32, 9, 43, 92, 120, 48, 100, 0xc3, 0xa9, 0xe2, 0x80, 0xa8, 0xff, 0, 0xef, 0xbb, 0xbf),
  fc.integer({ min: 0, max: 255 }),
)
const pieces = fc.oneof(
  fc.constantFrom(
    '\n\n',
    '\n',
    '\r\n',
    '\\x0a',
    '\\',
    '+12ms ',
    '---',
    '  ',
    '\t',
    '\u2028',
    '\u0085',
    '\ufeff',
    'data: ',
  ),
  fc.string({ unit: 'grapheme' }),
)
const bytes = fc.oneof(
  fc.array(byte, { maxLength: 40 }).map((all) => Uint8Array.from(all)),
  fc.array(pieces, { maxLength: 12 }).map((all) => new TextEncoder().encode(all.join(''))),
  fc.array(pieces, { maxLength: 8 }).map((all) => new TextEncoder().encode(`${all.join('')}\n\n`)),
)
const frames = fc.array(fc.record({ at: fc.nat(100_000), bytes }), { maxLength: 8 })
const attempt: fc.Arbitrary<RecordedAttempt> = fc.record(
  {
    response: fc.record(
      {
        status: fc.integer({ min: 100, max: 999 }),
        headers: fc.array(fc.tuple(fc.constantFrom('a', 'retry-after', 'x-y'), fc.string())),
        at: fc.nat(),
        frames,
        omitted: fc.nat(),
      },
      { requiredKeys: ['status', 'headers', 'at', 'frames'] },
    ),
    end: fc.constantFrom('complete', 'cut by provider', 'reset', 'timed out', 'left by client'),
    reason: fc.string(),
    endedAt: fc.nat(),
  },
  { requiredKeys: ['end', 'endedAt'] },
)

/** Texts that YAML may take for something else. */
const LOOKALIKES = [
  ...['12345678', '1e234567', '88c5b4fd', 'deadbeef', '0x12345678', '0o17', '.5', '+1', '1_000', '12:30', '2026-11-26'],
  ...['true', 'No', '~', 'null', '.inf', '<<', '=', '- a', '? a', '!tag', '&a', '*a', '|', '>', '%a', '@a', '`a`'],
  ...[
    'a: b',
    'a #b',
    '#a',
    'a:',
    '{a}',
    '[a]',
    "'a'",
    '"a"',
    '---',
    '...',
    ' a',
    'a ',
    'a\n',
    '\na',
    'a\n\n',
    '\n',
    ' \n a',
  ],
]
const texts = fc.oneof(
  fc.constantFrom(...LOOKALIKES),
  fc.string({ unit: character }),
  fc.array(pieces, { maxLength: 6 }).map((all) => all.join('')),
)
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    texts,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.dictionary(texts, tie('value'), { maxKeys: 5 }),
})).value

property('cassette: keeps every byte of every frame, and every value of a request', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(values, fc.array(attempt, { minLength: 1, maxLength: 3 })), { maxLength: 4 }),
      async (all) => {
        const interactions = all.map(([value, attempts], index) =>
          chatInteraction(value, { turn: index + 1, attempts }),
        )
        rmSync(cassetteFile(folder.path, 'property'), { force: true })
        const read = await writeCassette(folder.path, newHeader('property'), interactions)
        const plain = read.interactions.map(({ line: _, ...interaction }) => interaction)
        expect(JSON.parse(JSON.stringify(plain.map(hexFrames)))).toEqual(
          JSON.parse(JSON.stringify(interactions.map(hexFrames))),
        )
      },
    ),
    { numRuns: runs(400) },
  )
})
const hexFrames = ({ request, attempts, turn }: Interaction) => ({
  turn,
  request,
  attempts: attempts.map(({ response, ...rest }) => ({
    ...rest,
    response: response && {
      ...response,
      frames: response.frames.map(({ at, bytes: raw }) => [at, Buffer.from(raw).toString('hex')]),
    },
  })),
})
