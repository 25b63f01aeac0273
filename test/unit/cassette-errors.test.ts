// Cassettes that cannot be used: each problem has the file, the line and what was expected. And what check says of the others.
import { afterEach, beforeEach, describe, expect } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { checkCassette, unusedBlobs } from '../../src/cassettes/check.ts'
import { cassetteFile, cassetteName, renewalCommand } from '../../src/cassettes/names.ts'
import { readCassette } from '../../src/cassettes/read.ts'
import type { Interaction, UpstreamBody } from '../../src/contract/core/cassette.ts'
import { character } from '../support/arbitrary.ts'
import { answered, chatInteraction, frame, newHeader, writeCassette } from '../support/cassettes.ts'
import { runCommand } from '../support/cli.ts'
import { property, runs, test } from '../support/property.ts'
import { emptyFolder } from '../support/server.ts'

let folder = emptyFolder()
beforeEach(() => void (folder = emptyFolder()))
afterEach(() => folder.remove())

const stored = (text: string, name = 's.yaml') => {
  const file = join(folder.path, name)
  writeFileSync(file, text)
  return file
}
const problemOf = (file: string): string => {
  try {
    readCassette(file)
    return 'no problem'
  } catch (error) {
    return (error as Error).message.replaceAll(`${folder.path}/`, '')
  }
}
const BINARY = Uint8Array.from({ length: 300 }, (_, index) => index % 256)
const interactions = (): Interaction[] => [
  chatInteraction({ model: 'gpt-4o', messages: [{ role: 'user', content: 'x'.repeat(300) }] }),
  chatInteraction(
    {
      model: 'gpt-4o',
      messages: [
        { role: 'user', content: 'x'.repeat(300) },
        { role: 'user', content: 'more' },
      ],
    },
    { turn: 2, attempts: [answered(frame(5, 'data: 1\n\n'), frame(9, 'data: 2\n\n'))] },
  ),
]

describe('broken cassette', () => {
  const rows: [string, (text: string) => string, string][] = [
    [
      'an unknown key',
      (text) => text.replace('\nturn: 2', '\nturns: 2'),
      "s.yaml:33:1: turns is not known (did you mean 'turn'?)",
    ],
    [
      'a wrong type',
      (text) => text.replace('status: 200', 'status: ok'),
      's.yaml:22:5: attempts[0].status must be a number, got "ok"',
    ],
    [
      'no time',
      (text) => text.replace('at: 10ms', 'at: 10'),
      "s.yaml:25:5: attempts[0].at must be a number of milliseconds, such as '120ms', got 10",
    ],
    [
      'a line that is no frame',
      (text) => text.replace('+9ms data: 2', 'data: 2'),
      's.yaml:53: a line of frames must begin with a time, such as',
    ],
    [
      'a line with a broken escape',
      (text) => text.replace('+9ms data: 2', '+9ms data: \\xZZ'),
      "s.yaml:53: a line of frames has '\\xZZ', which is no escape: one is '\\x' and two digits of 0-9 and a-f, such as '\\x5c' for a backslash",
    ],
    ['no model', (text) => text.replace('model: gpt-4o', 'model: ""'), 's.yaml:14:3: request.model must not be empty'],
    ['broken YAML', (text) => text.replace('provider: openai', 'provider: "openai'), 's.yaml:12:'],
    [
      'an unknown state',
      (text) => text.replace('state: complete', 'state: done'),
      's.yaml:4:1: state must be one of "incomplete", "complete", got "done"',
    ],
    [
      'a newer format',
      (text) => text.replace('cassette: 1', 'cassette: 2'),
      's.yaml:2:1: the cassette has format 2, which a newer understudy (0.1.0) wrote; this one reads format 1',
    ],
    [
      'a reference to an interaction that was deleted',
      (text) => text.replace(/---\n# chat[\s\S]*?(?=---\n)/, ''),
      'which is not above',
    ],
    [
      'two interactions with one id',
      (text) => text.replace(/(id: "?(\w{8})[\s\S]*?id: )"?\w{8}"?/, '$1"$2"'),
      'id must be unique',
    ],
    [
      'no attempts',
      (text) => text.replace(/attempts:\n {2}- [\s\S]*?(?=---\n)/, 'attempts: []\n'),
      'attempts must be at least 1 item',
    ],
    [
      'a merge conflict',
      (text) => text.replace('turn: 2', '<<<<<<< HEAD\nturn: 2\n=======\nturn: 3\n>>>>>>> b'),
      's.yaml:33: the file has a merge conflict',
    ],
    [
      'a rule with a broken pattern',
      (text) => text.replace('state:', "volatile: [{ name: a, path: b, pattern: '(' }]\nstate:"),
      's.yaml:4:',
    ],
    [
      'a rule with a broken path',
      (text) => text.replace('state:', 'volatile: [{ name: a, path: "b[" }]\nstate:'),
      'must be the path of a field',
    ],
    ['an empty document', (text) => `${text}---\n`, 'the interaction is empty'],
    ['nothing at all', () => '', "s.yaml:1: the file is empty: a cassette of Understudy begins with 'cassette: 1'"],
    ['bytes that are not UTF-8', (text) => text.replace('openai', '\ud800'), ''],
  ]
  test.each(rows)('is explained with its line: %s', async (what, change, expected) => {
    const { text } = await writeCassette(folder.path, newHeader('s'), interactions())
    const changed = change(text)
    expect(changed).not.toBe(text)
    if (what !== 'bytes that are not UTF-8') {
      const problem = problemOf(stored(changed))
      expect(problem).toContain(expected)
      // What repeats a broken interaction is no further problem.
      if (!expected.includes('above') && what !== 'two interactions with one id') expect(problem).not.toContain('above')
    } else {
      writeFileSync(join(folder.path, 's.yaml'), Buffer.concat([Buffer.from(text), Buffer.from([0x23, 0xff, 10])]))
      expect(problemOf(join(folder.path, 's.yaml'))).toBe(`s.yaml:${text.split('\n').length}: must be text in UTF-8`)
    }
  })

  test('is read with the line ends of Windows, and with a mark of three hyphens before the header', async () => {
    const { text, interactions: read } = await writeCassette(folder.path, newHeader('s'), interactions())
    const commented = `--- # mine\n${text.replaceAll('\n---\n', '\n--- # the next one, which is longer\n')}`
    for (const changed of [
      text.replaceAll('\n', '\r\n'),
      `---\n${text}`,
      `\ufeff${text}`,
      commented,
      commented.replaceAll('\n', '\r\n'),
    ]) {
      const again = readCassette(stored(changed)).interactions
      expect(again.map(({ line: _, ...one }) => one)).toEqual(read.map(({ line: _, ...one }) => one))
    }
  })

  test('reads the body of a request in every form', async () => {
    const file = { name: 'file', file: 'a.mp3', type: 'audio/mpeg', size: 3, sha256: 'a'.repeat(64) }
    const bodies: UpstreamBody[] = [
      { kind: 'text', text: 'no JSON\n' },
      { kind: 'form', fields: [{ name: 'model', value: 'whisper-1' }, file] },
      { kind: 'json', value: [9_007_199_254_740_993n] },
    ]
    const all = bodies.map((body) => ({ ...chatInteraction({}), request: { ...chatInteraction({}).request, body } }))
    const { interactions: read, text } = await writeCassette(folder.path, newHeader('s'), all)
    expect(read.map(({ request }) => request.body)).toEqual(bodies)
    const wrong = (from: string, to: string) => problemOf(stored(text.replace(from, () => to)))
    expect(wrong('  text: |\n    no JSON\n', '')).toContain('request needs one of body, json, form, text')
    expect(wrong('  form:', '  text: x\n  form:')).toContain("cannot be given beside 'form': a request has one body")
    expect(wrong('[9007199254740993]', '[')).toContain('request.json must be JSON')
  })

  test('names the line of a binary body whose sizes are wrong, and a second body', async () => {
    const binary = chatInteraction({}, { attempts: [answered({ at: 5, bytes: BINARY }, { at: 9, bytes: BINARY })] })
    const { text } = await writeCassette(folder.path, newHeader('s'), [binary])
    const wrong = (from: string, to: string) => problemOf(stored(text.replace(from, to)))
    expect(wrong('+9ms 300 bytes', '+9ms 200 bytes')).toContain('must end at the size of the file, 600 bytes, got 500')
    expect(wrong('+9ms 300 bytes', '300 bytes')).toContain('must be a time and a size, such as')
    expect(wrong('    blob:', '    body: x\n    blob:')).toContain("body cannot be given beside 'blob'")
  })

  test('names a binary body that is missing or has another content', async () => {
    const binary = chatInteraction(
      {},
      { attempts: [answered({ at: 5, bytes: BINARY.subarray(0, 100) }, { at: 9, bytes: BINARY.subarray(100) })] },
    )
    const { file, interactions: read } = await writeCassette(folder.path, newHeader('s'), [binary])
    expect(read[0]?.attempts).toEqual([...binary.attempts])
    const [name = ''] = readdirSync(join(folder.path, 'blobs'))
    expect(name).toBe(new Bun.CryptoHasher('sha256').update(BINARY).digest('hex'))
    const blob = join(folder.path, 'blobs', name)
    writeFileSync(blob, 'other')
    expect(problemOf(file)).toMatch(
      /^s\.yaml:\d+:5: attempts\[0\]\.blob has another content: the checksum of blobs\/\w+ is \w{64}$/,
    )
    rmSync(blob)
    expect(problemOf(file)).toMatch(/^s\.yaml:\d+:5: attempts\[0\]\.blob is missing: there is no file blobs\/\w{64}$/)
  })

  test('keeps the whole interactions of a recording that was killed at any byte', async () => {
    const { text } = await writeCassette(folder.path, newHeader('s'), interactions())
    const recording = `${text.replace('state: complete', 'state: incomplete')}---\n`
    const from = recording.indexOf('---\n')
    const second = recording.indexOf('---\n', from + 4)
    for (let end = from + 4; end <= recording.length; end += 7) {
      const { interactions: whole } = readCassette(stored(recording.slice(0, end)))
      expect(whole).toHaveLength(end < second + 4 ? 0 : end < recording.length ? 1 : 2)
    }
  })
})

describe('foreign file', () => {
  const rows: [string, string, string][] = [
    [
      'vcrpy',
      'interactions:\n- request:\n    uri: http://x\n  response:\n    status: {code: 200}\nversion: 1\n',
      'a cassette of vcrpy or go-vcr',
    ],
    [
      'VCR',
      '---\nhttp_interactions:\n- request:\n    method: get\nrecorded_with: VCR 6.0.0\n',
      'a cassette of VCR for Ruby',
    ],
    [
      'Polly.JS',
      JSON.stringify({ log: { _recordingName: 'x', creator: { name: 'Polly.JS' }, entries: [] } }),
      'a recording of Polly.JS',
    ],
    [
      'a HAR',
      JSON.stringify({ log: { version: '1.2', creator: { name: 'WebInspector' }, entries: [] } }),
      "a HAR file; 'understudy scenario from FILE' reads it",
    ],
    [
      'aimock',
      JSON.stringify({ fixtures: [{ match: { userMessage: 'hi' }, response: { content: 'x' } }] }),
      'a fixture file of aimock',
    ],
    ['a scenario', 'rules: []\n', 'a scenario of Understudy'],
    ['anything else', 'hello: world\n', 'not a cassette'],
  ]
  test.each(rows)('is recognized: %s', (_, text, what) => {
    expect(problemOf(stored(text))).toBe(
      `s.yaml:1: the file is ${what}: a cassette of Understudy begins with 'cassette: 1'`,
    )
  })

  test('is a problem for check wherever it lies', async () => {
    writeFileSync(join(folder.path, 'a.json'), rows[4]?.[1] ?? '')
    const { code, stderr } = await runCommand(['check', 'a.json'], { cwd: folder.path })
    expect([code, stderr]).toEqual([
      2,
      `understudy: a.json:1: the file is a fixture file of aimock: a cassette of Understudy begins with 'cassette: 1'\n`,
    ])
  })
})

describe('name of a cassette', () => {
  const NAMES = [
    '../x',
    'CON',
    'con',
    'nul.txt',
    'com1',
    'a/b',
    'a\\b',
    'a:b',
    'a b',
    'OWN',
    'own',
    'Own',
    '.',
    '..',
    '',
    '.hidden',
    'end.',
    'x'.repeat(300),
    'x'.repeat(301),
    'ä',
    'a\u0308',
    'ÄÖ',
    '日本語',
    '\ud800',
    '\ud801',
    'a\0b',
    'a\nb',
    'tests/chat.test.ts > streams',
    'workspace',
    'explore',
    'understudy',
    'blobs',
    'own~incomplete',
    'own.yaml',
    '*?"<>|',
  ]

  property('is valid on every file system and its own for every session', () => {
    const names = NAMES.map(cassetteName)
    expect(new Set(names.map((name) => name.toLowerCase().normalize('NFC'))).size).toBe(NAMES.length)
    for (const name of names)
      expect(name).toMatch(/^(?!(?:con|prn|aux|nul|com\d|lpt\d)\.)[a-z0-9][a-z0-9._~-]{0,90}\.yaml$/)
  })

  test('is renewed by a command that a shell takes as it is', () => {
    expect(renewalCommand('test/cassettes', 'checkout/pays')).toBe(
      'understudy record --out test/cassettes --only checkout/pays -- COMMAND',
    )
    expect(renewalCommand('my tests', "it's")).toBe("understudy record --out 'my tests' --only 'it'\\''s' -- COMMAND")
  })

  property('never leaves the folder, and is unique, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), fc.string({ unit: character }), (one, other) => {
        expect(cassetteFile('/c', one)).toMatch(/^\/c\/[a-z0-9][a-z0-9._~-]*\.yaml$/)
        expect(cassetteName(one) === cassetteName(other)).toBe(one === other)
      }),
      { numRuns: runs(1_000) },
    )
  })

  property('holds every name in one folder', async () => {
    for (const session of NAMES) await writeCassette(folder.path, newHeader(session), [chatInteraction({ session })])
    for (const session of NAMES)
      expect(readCassette(cassetteFile(folder.path, session)).header.session).toBe(session.toWellFormed())
    expect(readdirSync(folder.path)).toHaveLength(NAMES.length)
  })
})

describe('check', () => {
  const check = (...args: string[]) => runCommand(['check', ...args], { cwd: folder.path })
  const inFolder = async (session: string, recorded: Interaction[]) => {
    const cassettes = join(folder.path, 'cassettes')
    mkdirSync(cassettes, { recursive: true })
    return writeCassette(cassettes, newHeader(session), recorded)
  }

  test('counts cassettes and notes equal requests, redacted fields and truncated responses', async () => {
    const call = chatInteraction({ user: '<secret:email:1>', messages: [{ content: 'card <secret:card-number:2>' }] })
    const long: Interaction = {
      ...chatInteraction({ long: true }),
      attempts: [{ ...answered(), response: { status: 200, headers: [], at: 1, frames: [], omitted: 9 } }],
    }
    await inFolder('one', [call, long, call])
    await inFolder('two', [])
    expect(await check()).toEqual({
      code: 0,
      stdout: '2 cassettes (3 interactions), 0 warnings\n',
      stderr: [
        'cassettes/one.yaml:8: 2 interactions have the same request (lines 8, 47): they are replayed in this order',
        'cassettes/one.yaml:8: user (email) is redacted (2 times), so its value is not compared',
        'cassettes/one.yaml:8: messages[*].content (card-number) is redacted (2 times), so its value is not compared',
        'cassettes/one.yaml:30: 9 bytes of the response were not recorded, since it is too large',
      ]
        .map((line) => `understudy: note: ${line}\n`)
        .join(''),
    })
  })

  test('fails for an incomplete cassette', async () => {
    const { file, text } = await inFolder('one', interactions())
    writeFileSync(file, `${text.replace('state: complete', 'state: incomplete')}---\n# torn\nid: x\n`)
    const { code, stderr } = await check('cassettes')
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^understudy: cassettes\/one\.yaml:1: state is incomplete: its recording did not end, and the interaction at line \d+ was not written whole; record it again, or delete the file\n$/,
    )
  })

  test('fails for a file in cassettes/ that is not a cassette', async () => {
    await inFolder('one', [])
    writeFileSync(join(folder.path, 'cassettes', 'x.yaml'), 'casette: 1\n')
    expect((await check()).stderr).toContain(
      "cassettes/x.yaml:1: the file is not a cassette: a cassette of Understudy begins with 'cassette: 1'",
    )
  })

  const emptyCassette =
    "the file is empty: a cassette of Understudy begins with 'cassette: 1'; delete the file and record it again"
  test.each([
    ['in cassettes/', 'cassettes/a.yaml', '', emptyCassette],
    ['with only comments in cassettes/', 'cassettes/a.yaml', '# a\r\n---\n\n  # b', emptyCassette],
    ['with the name of an incomplete recording', 'rec/a~incomplete.yaml', '', emptyCassette],
    ['with the name of a failed recording', 'rec/a~failed.yaml', '# a', emptyCassette],
    ['with the checksum of a session', 'rec/tests-cart-test-ts~0123456789ab.yaml', '', emptyCassette],
    ['beside a cassette', 'rec/a.yaml', '# a\n', emptyCassette],
    [
      'without a sign of what it is',
      'other/a.yaml',
      '',
      'the file is empty: write a fixture or a scenario, or delete the file and record its cassette again',
    ],
    ['of a fixture', 'fixtures/chat.completions/a.yaml', '', 'the file is empty: write a fixture, or delete the file'],
  ])('says what an empty file is, %s', async (where, file, text, message) => {
    const path = join(folder.path, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    if (where === 'beside a cassette') await writeCassette(dirname(path), newHeader('one'), [])
    const { code, stderr } = await check(dirname(file))
    expect(code).toBe(2)
    expect(stderr).toMatch(/^understudy: [^\n]+\n$/)
    expect(stderr).toContain(`${file}:1`)
    expect(stderr).toEndWith(`: ${message}\n`)
  })

  test('notes a cassette that was renamed, and warns about a binary body that no cassette contains', async () => {
    const binary = chatInteraction({}, { attempts: [answered({ at: 5, bytes: BINARY })] })
    const { file } = await inFolder('one', [binary])
    const unused = 'f'.repeat(64)
    writeFileSync(join(folder.path, 'cassettes', 'blobs', unused), '')
    renameSync(file, join(folder.path, 'cassettes', 'other.yaml'))
    const { code, stderr } = await check()
    expect(code).toBe(0)
    expect(stderr).toBe(
      `understudy: warning: cassettes/blobs/${unused}: no cassette contains this file\nunderstudy: note: cassettes/other.yaml:1: is never replayed under this name: the file of session 'one' is one.yaml\n`,
    )
  })

  test('calls no binary body unused while a cassette of its folder cannot be read', async () => {
    const { file, text } = await inFolder('one', [
      chatInteraction({}, { attempts: [answered({ at: 5, bytes: BINARY })] }),
    ])
    writeFileSync(file, text.replace('cassette: 1', 'cassette: 99'))
    expect(unusedBlobs(new Map([[file, checkCassette(file)]]))).toEqual([])
    const other = join(dirname(file), 'other.yaml')
    writeFileSync(file, text)
    writeFileSync(other, text)
    expect(unusedBlobs(new Map([[other, checkCassette(other)]]))).toEqual([])
    rmSync(file)
    writeFileSync(other, text.slice(0, text.indexOf('---')))
    expect(unusedBlobs(new Map([[other, checkCassette(other)]]))).toEqual([
      expect.stringContaining('no cassette contains'),
    ])
  })

  test('leaves cassettes as they are with --fix', async () => {
    const { file, text } = await inFolder('one', interactions())
    expect((await check('--fix', 'cassettes')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})
