// A cassette that is recorded again: what has not changed stays byte for byte, and nothing half takes its place.
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkCassette } from '../../src/cassettes/check.ts'
import { readCassette } from '../../src/cassettes/read.ts'
import { CassetteWriter } from '../../src/cassettes/write.ts'
import type { Interaction, RecordedAttempt } from '../../src/contract/core/cassette.ts'
import { answered, chatInteraction, frame, newHeader, writeCassette } from '../support/cassettes.ts'
import { emptyFolder } from '../support/server.ts'

let folder = emptyFolder()
beforeEach(() => void (folder = emptyFolder()))
afterEach(() => folder.remove())

const DAY = { recorded: '2026-11-27' }
const withDay = (text: string) => text.replace('recorded: "2026-11-26"', 'recorded: "2026-11-27"')
const user = (content: string) => ({ role: 'user', content })

/** A streamed response as a provider sends it, with its own id and time, in pieces of some size. */
function stream(
  words: readonly string[],
  { id, at, piece = 0 }: { id: string; at: number; piece?: number },
): RecordedAttempt {
  const events = words.map(
    (content) =>
      `data: ${JSON.stringify({ id, created: at, system_fingerprint: `fp_${at}`, choices: [{ delta: { content } }] })}\n\n`,
  )
  const all = `${events.join('')}data: [DONE]\n\n`
  const pieces = piece > 0 ? (all.match(new RegExp(`[^]{1,${piece}}`, 'g')) ?? []) : [...events, 'data: [DONE]\n\n']
  return {
    response: {
      status: 200,
      headers: [
        ['content-type', 'text/event-stream'],
        ['date', `at ${at}`],
        ['x-request-id', `req_${id}`],
        ['x-ratelimit-remaining-requests', String(at)],
        ['openai-processing-ms', String(at % 100)],
      ],
      at: at % 1000,
      frames: pieces.map((text, index) => frame((at % 1000) + index, text)),
    },
    end: 'complete',
    endedAt: 5_000 + (at % 1000),
  }
}
const turnOf = (content: string, attempt: RecordedAttempt): Interaction =>
  chatInteraction({ model: 'gpt-4o', messages: [user(content)] }, { attempts: [attempt] })

describe('renewed cassette', () => {
  test('differs by its date alone when only ids, times and offsets are new', async () => {
    const first = [
      turnOf('a', stream(['Hello', ' you'], { id: 'chatcmpl-first', at: 1_700_000_001 })),
      turnOf('b', stream(['Bye'], { id: 'chatcmpl-second', at: 1_700_000_002 })),
    ]
    const { text } = await writeCassette(folder.path, newHeader('s'), first)
    const second = [
      turnOf('a', stream(['Hello', ' you'], { id: 'chatcmpl-third', at: 1_800_000_123, piece: 50 })),
      turnOf('b', stream(['Bye'], { id: 'chatcmpl-fourth', at: 1_800_000_456 })),
    ]
    const renewed = await writeCassette(folder.path, newHeader('s', DAY), second)
    expect(renewed.text).toBe(withDay(text))
    expect(readdirSync(folder.path)).toEqual(['s.yaml'])
  })

  test('keeps the line ends of the older one', async () => {
    const calls = ['a', 'b', 'c'].map((name) => turnOf(name, answered(frame(5, `{"text":"${name}\r\n"}`))))
    const { file, text } = await writeCassette(folder.path, newHeader('s'), calls)
    const withCrlf = (lines: string) => lines.replaceAll('\n', '\r\n')
    writeFileSync(file, withCrlf(text))
    const renewed = await writeCassette(folder.path, newHeader('s', DAY), calls)
    expect(renewed.text).toBe(withCrlf(withDay(text)))
    const changed = [...calls.slice(0, 2), turnOf('c', answered(frame(5, 'other\r\n'))), ...calls.slice(2)]
    const { text: crlf, interactions } = await writeCassette(folder.path, newHeader('s', DAY), changed)
    expect(crlf.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    expect(interactions.map(({ attempts }) => attempts)).toEqual(changed.map(({ attempts }) => attempts))
  })

  test('is written to the file that a link names', async () => {
    const calls = [turnOf('a', answered(frame(5, '{}')))]
    const other = emptyFolder()
    const { file, text } = await writeCassette(folder.path, newHeader('s'), calls)
    const target = join(other.path, 'shared.yaml')
    renameSync(file, target)
    symlinkSync(target, file)
    const renewed = await writeCassette(folder.path, newHeader('s', DAY), calls)
    expect(lstatSync(file).isSymbolicLink()).toBe(true)
    expect(readFileSync(target, 'utf8')).toBe(renewed.text)
    expect(renewed.text).toBe(withDay(text))
    expect([readdirSync(folder.path), readdirSync(other.path)]).toEqual([['s.yaml'], ['shared.yaml']])
    other.remove()
  })

  test('keeps the order of the older one when calls at the same time end in another order', async () => {
    const calls = ['a', 'b', 'c', 'd'].map((name) => turnOf(name, answered(frame(5, `{"text":"${name}"}`))))
    const { text } = await writeCassette(folder.path, newHeader('s'), calls)
    const renewed = await writeCassette(folder.path, newHeader('s', DAY), calls.toReversed())
    expect(renewed.text).toBe(withDay(text))
  })

  test('keeps the order of different responses to the same request', async () => {
    const poll = (state: string) => turnOf('poll', answered(frame(5, `{"state":"${state}"}`)))
    const other = turnOf('other', answered(frame(5, '{}')))
    await writeCassette(folder.path, newHeader('s'), [poll('queued'), other, poll('done')])
    const states = ['done', 'queued', 'failed', 'done']
    const renewed = await writeCassette(folder.path, newHeader('s', DAY), [other, ...states.map(poll)])
    const bodies = renewed.interactions.map(({ attempts: [attempt] }) =>
      Buffer.concat(attempt?.response?.frames.map(({ bytes }) => bytes) ?? []).toString(),
    )
    expect(bodies.filter((body) => body !== '{}')).toEqual(states.map((state) => `{"state":"${state}"}`))
  })

  const changes: [string, Interaction][] = [
    ['a word of the response', turnOf('a', stream(['Hello', ' there'], { id: 'x', at: 1_700_000_001 }))],
    ['another status', turnOf('a', { ...answered(), response: { status: 429, headers: [], at: 1, frames: [] } })],
    ['another end', turnOf('a', { ...stream(['Hello', ' you'], { id: 'x', at: 1_700_000_001 }), end: 'reset' })],
    [
      'a further attempt',
      chatInteraction(
        { model: 'gpt-4o', messages: [user('a')] },
        { attempts: [1, 2].map(() => stream(['Hello', ' you'], { id: 'x', at: 1_700_000_001 })) },
      ),
    ],
  ]
  test.each(changes)('has a new document after %s, and keeps the others', async (_, changed) => {
    const kept = turnOf('b', stream(['Bye'], { id: 'chatcmpl-second', at: 1_700_000_002 }))
    const first = turnOf('a', stream(['Hello', ' you'], { id: 'x', at: 1_700_000_001 }))
    const before = await writeCassette(folder.path, newHeader('s'), [first, kept])
    const after = await writeCassette(folder.path, newHeader('s', DAY), [changed, kept])
    const documents = (text: string) => text.split('---\n')
    expect(documents(after.text)[1]).not.toBe(documents(before.text)[1] ?? '')
    expect(documents(after.text)[2]).toBe(documents(before.text)[2] ?? '')
  })

  test('is new where a status differs, although the body is the same', async () => {
    const answer = (status: number): Interaction => {
      const { response, ...attempt } = answered(frame(5, '{"id":"x"}'))
      return turnOf('a', response ? { ...attempt, response: { ...response, status } } : attempt)
    }
    await writeCassette(folder.path, newHeader('s'), [answer(404)])
    const { interactions } = await writeCassette(folder.path, newHeader('s'), [answer(422)])
    expect(interactions[0]?.attempts[0]?.response?.status).toBe(422)
  })

  test('is new where tool arguments differ, although they are named like ids', async () => {
    const answer = (id: string) =>
      turnOf('a', answered(frame(5, JSON.stringify({ content: [{ type: 'tool_use', id, input: { id } }] }))))
    const before = await writeCassette(folder.path, newHeader('s'), [answer('order-1')])
    const after = await writeCassette(folder.path, newHeader('s'), [answer('order-2')])
    expect(after.text).not.toBe(before.text)
  })

  test('has the older ids of kept responses in the requests and responses that repeat them', async () => {
    const turns = (id: string): Interaction[] => [
      turnOf('a', answered(frame(5, JSON.stringify({ id: `resp_${id}`, output: [] })))),
      chatInteraction(
        { model: 'gpt-4o', previous_response_id: `resp_${id}`, input: 'more' },
        {
          turn: 2,
          attempts: [answered(frame(5, JSON.stringify({ previous_response_id: `resp_${id}`, output: [] })))],
        },
      ),
    ]
    const { text } = await writeCassette(folder.path, newHeader('s'), turns('12345678'))
    const renewed = await writeCassette(folder.path, newHeader('s', DAY), turns('87654321'))
    expect(renewed.text).toBe(withDay(text))
  })

  test('keeps documents whose volatile fields have changed', async () => {
    const rules = { volatile: [{ name: 'run', path: 'metadata.run' }] }
    const call = (run: string) => chatInteraction({ metadata: { run }, messages: [user('a')] })
    const { text } = await writeCassette(folder.path, newHeader('s', rules), [call('1')])
    expect((await writeCassette(folder.path, newHeader('s', { ...rules, ...DAY }), [call('2')])).text).toBe(
      withDay(text),
    )
  })

  test('takes the place of the older one only at its end', async () => {
    const { text, file } = await writeCassette(folder.path, newHeader('s'), [turnOf('a', answered())])
    const writer = new CassetteWriter(folder.path, newHeader('s'), { report: () => {} })
    await writer.append(turnOf('b', answered()))
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(readdirSync(folder.path).sort()).toEqual(['s.yaml', 's~incomplete.yaml'])
    const draft = join(folder.path, 's~incomplete.yaml')
    expect(checkCassette(draft).problems).toEqual([expect.stringContaining('state is incomplete')])
    expect(readCassette(draft).interactions).toHaveLength(1)
    await writer.finish()
    expect(readFileSync(file, 'utf8')).not.toBe(text)
    expect(existsSync(draft)).toBe(false)
  })

  test('stays as it is when the recording is ended twice or continued after its end, which is reported', async () => {
    const problems: string[] = []
    const writer = new CassetteWriter(folder.path, newHeader('s'), { report: (problem) => problems.push(problem) })
    await writer.append(turnOf('a', answered()))
    await Promise.all([writer.finish(), writer.finish()])
    const text = readFileSync(writer.file, 'utf8')
    await writer.append(turnOf('b', answered()))
    await writer.append(turnOf('c', answered()))
    expect(readFileSync(writer.file, 'utf8')).toBe(text)
    expect(problems).toEqual([
      `the recording of session 's' lacks what followed: ${writer.file}: an interaction came after its end`,
    ])
  })

  test('is reported once when its folder cannot be written', async () => {
    writeFileSync(join(folder.path, 'file'), '')
    const problems: string[] = []
    const writer = new CassetteWriter(join(folder.path, 'file'), newHeader('s'), {
      report: (problem) => problems.push(problem),
    })
    await writer.append(turnOf('a', answered()))
    await writer.finish()
    expect(problems).toEqual([
      expect.stringMatching(/^the recording of session 's' stays incomplete: .*: E(?:EXIST|NOTDIR)/),
    ])
  })

  test('replaces one that cannot be read', async () => {
    writeFileSync(join(folder.path, 's.yaml'), 'cassette: 1\nsession: [')
    expect((await writeCassette(folder.path, newHeader('s'), [turnOf('a', answered())])).interactions).toHaveLength(1)
  })

  test('does not replace a file of another program, and says so', async () => {
    const file = join(folder.path, 'vcr.yaml')
    const text = 'interactions:\n- request: {method: POST}\n  response: {status: {code: 200}}\nversion: 1\n'
    writeFileSync(file, text)
    const problems: string[] = []
    const writer = new CassetteWriter(folder.path, newHeader('vcr'), { report: (problem) => problems.push(problem) })
    await writer.append(turnOf('a', answered()))
    await writer.finish()
    expect(problems).toEqual([
      `the recording of session 'vcr' is not written: ${file}:1: the file is a cassette of vcrpy or go-vcr: a cassette of Understudy begins with 'cassette: 1'; move the file, or record into another folder`,
    ])
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  describe('of two processes', () => {
    const answer = (text: string) => turnOf(text, answered())
    const open = () => {
      const problems: string[] = []
      return {
        problems,
        writer: new CassetteWriter(folder.path, newHeader('s'), { report: (one) => problems.push(one) }),
      }
    }
    const isStopped = [
      expect.stringMatching(
        /^the recording of session 's' stays incomplete: .*: another process records the same session/,
      ),
    ]

    test('is that of the first when both record a new session', async () => {
      const one = open()
      await one.writer.append(answer('a'))
      const other = open()
      await other.writer.append(answer('b'))
      await one.writer.append(answer('c'))
      await Promise.all([one.writer.finish(), other.writer.finish()])
      expect([one.problems, other.problems]).toEqual([[], isStopped])
      expect(readCassette(one.writer.file).interactions).toHaveLength(2)
    })

    test('is that of the second when it ends while the first waits', async () => {
      const one = open()
      await one.writer.append(answer('a'))
      const other = open()
      await other.writer.append(answer('b'))
      await other.writer.finish()
      await one.writer.append(answer('c'))
      await one.writer.finish()
      expect([one.problems, other.problems]).toEqual([isStopped, []])
      expect(readCassette(one.writer.file).header.state).toBe('complete')
    })

    test('is that of the second when both renew it', async () => {
      await writeCassette(folder.path, newHeader('s'), [answer('a')])
      const one = open()
      await one.writer.append(answer('b'))
      const other = open()
      await other.writer.append(answer('c'))
      await other.writer.append(answer('d'))
      await one.writer.finish()
      await other.writer.finish()
      expect([one.problems, other.problems]).toEqual([isStopped, []])
      expect(readCassette(one.writer.file).interactions).toHaveLength(2)
    })

    test('is renewed after one was killed', async () => {
      await open().writer.append(answer('a'))
      const next = open()
      await next.writer.append(answer('b'))
      await next.writer.finish()
      expect(next.problems).toEqual([])
      expect(readCassette(next.writer.file).header.state).toBe('complete')
    })
  })
})

describe('conversation', () => {
  const text = (turn: number) => `Question ${turn}: ${'lorem ipsum '.repeat(20)}`
  const conversation = (turns: number) =>
    Array.from({ length: turns }, (_, index) =>
      chatInteraction(
        {
          model: 'gpt-4o',
          system: 'You are helpful. '.repeat(20),
          tools: [{ name: 'tool', description: 'A tool for tests. '.repeat(20) }],
          messages: Array.from({ length: index + 1 }, (_, turn) => user(text(turn))),
        },
        { turn: index + 1 },
      ),
    )

  test('is stored once per file, with its tools and instructions', async () => {
    const { text: stored, interactions } = await writeCassette(folder.path, newHeader('s'), conversation(12))
    expect(interactions.map(({ request }) => request)).toEqual(conversation(12).map(({ request }) => request))
    for (let turn = 0; turn < 12; turn++) expect(stored.split(`Question ${turn}:`)).toHaveLength(2)
    expect(stored.split('A tool for tests.')).toHaveLength(21)
    expect(stored).toMatch(
      / {2}repeats:\n {4}system: same as \w{8}\n {4}tools: first 1 of \w{8}\n {4}messages: first 11 of \w{8}\n/,
    )
  })

  test('is read again when a turn of it has changed in a renewed cassette', async () => {
    const before = conversation(6)
    await writeCassette(folder.path, newHeader('s'), before)
    const after = before.map((one, index) =>
      index === 2 ? { ...one, attempts: [answered(frame(1, 'changed'))] } : one,
    )
    const { interactions } = await writeCassette(folder.path, newHeader('s'), after)
    expect(interactions.map(({ request }) => request)).toEqual(after.map(({ request }) => request))
    const fewer = await writeCassette(folder.path, newHeader('s'), after.slice(3))
    expect(fewer.interactions.map(({ request }) => request)).toEqual(after.slice(3).map(({ request }) => request))
  })

  test('is in the order of its turns, and read again, when they ended in another one', async () => {
    const turns = conversation(4).map((one, index) => ({ ...one, started: index }))
    const { interactions, text: stored } = await writeCassette(folder.path, newHeader('s'), turns.toReversed())
    expect(interactions.map(({ request }) => request)).toEqual(turns.map(({ request }) => request))
    expect(stored).toContain('repeats:')
  })

  test('keeps a field that only looks like a reference', async () => {
    const odd = { repeats: 'same as x', messages: [], body: { messages: 'first 1 of x' }, __proto__x: 1 }
    const { interactions } = await writeCassette(folder.path, newHeader('s'), [
      chatInteraction(odd),
      chatInteraction(odd),
    ])
    expect(interactions.map(({ request }) => (request.body as { value: unknown }).value)).toEqual([odd, odd])
  })
})
