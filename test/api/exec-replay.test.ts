// exec with cassettes: what it records and replays, what it reports, and how it ends.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { readCassette } from '../../src/cassettes/read.ts'
import { junit } from '../../src/cli/print/junit.ts'
import { runLines } from '../../src/cli/print/report.ts'
import { runSuite, type SuiteOptions } from '../../src/cli/run/suite.ts'
import { exitCodeOf } from '../../src/cli/run/suite-run.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { runCommand, testIo } from '../support/cli.ts'
import { startProvider } from '../support/forward.ts'
import { runInProcess } from '../support/in-process.ts'
import type { Program } from '../support/programs/surroundings.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
const cassettes = join(folder.path, 'cassettes')
const settings = join(folder.path, 'understudy.yaml')
let provider: ReturnType<typeof startProvider>
let limited = true
beforeAll(() => {
  provider = startProvider(async (request) => {
    const { messages } = (await request.json()) as { messages: { content: string }[] }
    const content = messages.at(-1)?.content ?? ''
    if (content === 'busy' && limited) {
      limited = false
      return Response.json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after-ms': '1' } })
    }
    const message = { role: 'assistant', content: `answer to ${content}` }
    const choices = [{ index: 0, finish_reason: 'stop', message }]
    return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o', choices })
  })
  writeFileSync(settings, `providers:\n  openai: { base_url: "${provider.url}", api_key: sk-a-secret-of-the-tests }\n`)
})
afterAll(() => {
  provider.stop()
  folder.remove()
})

/** A program that sends these messages, and again after a 429 unless told otherwise. */
const sending =
  (messages: readonly string[], { retries = true, session }: { retries?: boolean; session?: string } = {}): Program =>
  async ({ env, fetch }) => {
    const post = (content: string) =>
      fetch(`${env.OPENAI_BASE_URL}/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${env.OPENAI_API_KEY}`,
          'content-type': 'application/json',
          ...(session && { 'x-understudy-session': session }),
        },
        body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }),
      })
    for (const content of messages) {
      const { status } = await post(content)
      if (status === 429 && retries) await post(content)
    }
    return 0
  }

async function executed(
  program: Program,
  flags: Record<string, unknown>,
  more: Partial<SuiteOptions> = {},
  rules: Partial<Config> = {},
) {
  const { strict = false, only, ...typed } = flags
  const read = readConfig({ config: settings, ...typed }, {})
  const config = {
    ...read,
    ...rules,
    ...(only !== undefined && { replay: cassettes }),
    port: 0,
    db: ':memory:',
    strict: strict === true,
  }
  const recordOnly = only as readonly string[] | undefined
  const [run] = await runSuite(['a program'], {
    ...{ io: testIo(), config, scenarios: [], output: 'ignore', runChild: runInProcess(program), recordOnly },
    ...more,
  })
  if (!run) throw new Error('nothing was run')
  return { run, code: exitCodeOf([run]), text: stripVTControlCharacters(runLines(run).join('\n')) }
}

test('exec --record and --replay: report what was recorded, replayed, missed and left', async () => {
  const recorded = await executed(sending(['hello', 'busy']), { record: cassettes })
  expect(recorded.code).toBe(0)
  expect(recorded.text).toContain(`recorded      2 interactions, 3 attempts, 1 cassette in ${cassettes}`)
  expect(recorded.text).not.toContain('not sent')
  const requests = provider.seen.length

  const replayed = await executed(sending(['hello', 'busy']), { replay: cassettes })
  expect(replayed.code).toBe(0)
  expect(replayed.text).toContain('replayed      3 attempts, no misses')
  expect(replayed.run.cassettes?.sessions[0]).toMatchObject({ cassette: 'default', recorded: null })

  const missed = await executed(sending(['hello', 'busy', 'new']), { replay: cassettes })
  expect(missed.code).toBe(3)
  expect(missed.text).toContain('3 attempts, 1 miss')
  expect(missed.text).toMatch(/nearest: \S+default\.yaml:\d+/)
  expect(missed.text).toContain('messages[0].content: recorded "hello", sent "new"')
  const command = `understudy record --out ${cassettes} --only default -- COMMAND`
  expect(missed.text).toContain(`if this is intended, record it again with '${command}'`)

  expect(junit([missed.run])).toMatch(
    /failures="1"[\s\S]+ name="cassette default" [^>]+><failure message="miss: chat\.completions openai\/gpt-4o: the cassette has no interaction [^"]+; messages\[0\]\.content: recorded &quot;hello&quot;, sent &quot;new&quot;"\/>/,
  )
  expect(junit([replayed.run])).toContain('failures="0"')

  const withoutRetry = await executed(sending(['hello', 'busy'], { retries: false }), { replay: cassettes })
  expect(withoutRetry.text).toMatch(
    /unused {8}1 of 2 attempts at \S+default\.yaml:\d+ \(chat\.completions openai\/gpt-4o, turn 1\)/,
  )
  const shorter = sending(['hello'])
  expect((await executed(shorter, { replay: cassettes })).code).toBe(0)
  const strict = await executed(shorter, { replay: cassettes, strict: true })
  expect(strict.code).toBe(3)
  expect(junit([strict.run])).toMatch(/<failure message="unused: interaction at \S+default\.yaml:\d+ /)
  expect(provider.seen.length).toBe(requests)
})

test('exec: prefers the exit code of the command to that of a miss', async () => {
  const failing: Program = async (surroundings) => {
    await sending(['other'])(surroundings)
    return 7
  }
  expect((await executed(failing, { replay: cassettes })).code).toBe(7)
})

test('exec --record: keeps the older cassette if the run is interrupted', async () => {
  const file = join(cassettes, 'default.yaml')
  const before = readFileSync(file, 'utf8')
  const hanging: Program = async (surroundings) => {
    await sending(['hello'])(surroundings)
    await surroundings.sleep(60_000)
    return 0
  }
  const { run, text } = await executed(hanging, { record: cassettes }, { timeout: 500 })
  expect(run.timed_out).toBe(true)
  expect(text).toContain('the run was interrupted, so the cassette stays incomplete')
  expect(readFileSync(file, 'utf8')).toBe(before)
  rmSync(join(cassettes, 'default~incomplete.yaml'))
})

test('exec --record: keeps the older cassette if the command fails, and the new recording beside it', async () => {
  const [file, beside] = [join(cassettes, 'default.yaml'), join(cassettes, 'default~failed.yaml')]
  const before = readFileSync(file, 'utf8')
  const failing: Program = async (surroundings) => {
    await sending(['hello'])(surroundings)
    return 7
  }
  const { code, text } = await executed(failing, { record: cassettes })
  expect(code).toBe(7)
  expect(text).toContain(
    `the command failed, so ${file} stays as it was; to replay the new recording, rename ${beside}`,
  )
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(readFileSync(beside, 'utf8')).toContain('state: complete')

  expect((await executed(sending(['hello', 'busy']), { record: cassettes })).code).toBe(0)
  expect(existsSync(beside)).toBe(false)
})

test('exec --record: completes a first recording, and one in place of an incomplete one, if the command fails', async () => {
  const failing: Program = async (surroundings) => {
    await sending(['hello'], { session: 'first' })(surroundings)
    return 7
  }
  const file = join(cassettes, 'first.yaml')
  for (let run = 0; run < 2; run++) {
    expect((await executed(failing, { record: cassettes })).code).toBe(7)
    const text = readFileSync(file, 'utf8')
    expect(text).toContain('state: complete')
    writeFileSync(file, text.replace('state: complete', 'state: incomplete'))
  }
  rmSync(file)
})

test('exec: names paths of redact and rules for volatile fields that matched nothing', async () => {
  const rules = { redact: ['mesages[*].name', 'messages[*].role'], volatile: [{ name: 'run', path: 'metdata.run' }] }
  const program = sending(['hello'], { session: 'rules' })
  const recorded = await executed(program, { record: cassettes }, {}, rules)
  expect(recorded.text).toContain("redacted      'mesages[*].name' replaced nothing; check the path in 'redact'")
  expect(recorded.run.cassettes?.unmatched_paths).toEqual(['mesages[*].name'])
  expect(recorded.code).toBe(0)

  const replayed = await executed(program, { replay: cassettes }, {}, rules)
  expect(replayed.text).toContain('volatile      run: matched no request; check its path and pattern')
  expect(replayed.run.cassettes?.unmatched_paths).toEqual([])
  rmSync(join(cassettes, 'rules.yaml'))
})

test('record --only: renews one cassette and replays the others', async () => {
  await executed(sending(['one'], { session: 'a/b' }), { record: cassettes })
  const before = provider.seen.length
  const both: Program = async (surroundings) => {
    await sending(['one'], { session: 'a/b' })(surroundings)
    await sending(['hello', 'busy'])(surroundings)
    return 0
  }
  const { code, run } = await executed(both, { record: cassettes, only: ['a/b'] })
  expect(code).toBe(0)
  expect(provider.seen.length - before).toBe(1)
  expect(run.cassettes?.sessions.map(({ cassette, recorded }) => [cassette, recorded !== null])).toEqual([
    ['a/b', true],
    ['default', false],
  ])
})

test('exec --replay: names the cassettes that no session used, without failing', async () => {
  const all = join(folder.path, 'all')
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g/h']
  const each =
    (sessions: readonly string[]): Program =>
    async (surroundings) => {
      for (const session of sessions) await sending(['hello'], { session })(surroundings)
      return 0
    }
  await executed(each(names), { record: all })
  writeFileSync(join(all, 'a~failed.yaml'), readFileSync(join(all, 'a.yaml')))
  writeFileSync(join(all, 'notes.yaml'), 'about: these cassettes\n')
  const unused = ['b.yaml', 'c.yaml', 'd.yaml', 'e.yaml', 'f.yaml', expect.stringMatching(/^g-h~[0-9a-f]{12}\.yaml$/)]

  const one = await executed(each(['a']), { replay: all, strict: true })
  expect(one.code).toBe(0)
  expect(one.run.cassettes?.unused_cassettes).toEqual(unused)
  expect(one.text.match(/unused/g)).toHaveLength(1)
  expect(one.text).toContain(
    `unused        6 cassettes in ${all} were not used by any session: b.yaml, c.yaml, d.yaml, e.yaml, f.yaml and 1 more`,
  )
  const every = await executed(each(names), { replay: all })
  expect(every.run.cassettes?.unused_cassettes).toEqual([])
  expect(every.text).not.toContain('unused')
  const most = await executed(each(names.slice(1)), { replay: all })
  expect(most.text).toContain(`unused        1 cassette in ${all} was not used by any session: a.yaml`)
  // Its cassette is used, although it has no such request.
  const missed = await executed(sending(['other'], { session: 'a' }), { replay: all })
  expect(missed.run.cassettes?.unused_cassettes).toEqual(unused)
  // Renewing one replays the others.
  const renewed = await executed(each(['a']), { record: all, only: ['a'] })
  expect(renewed.run.cassettes?.unused_cassettes).toEqual(unused)
  const recorded = await executed(each(['a']), { record: all })
  expect(recorded.run.cassettes?.unused_cassettes).toEqual([])
})

test('record --only: forwards nothing of the other sessions, whatever other replays do', async () => {
  const script = `await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer session:other', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
  })`
  const before = provider.seen.length
  const { code, stdout } = await runCommand(
    [
      ...['record', '--only', 'a/b', '--out', cassettes, '--config', settings],
      ...['--', process.execPath, '-e', script],
    ],
    { env: { UNDERSTUDY_ON_MISS: 'record' } },
  )
  expect(code).toBe(3)
  expect(stdout).toContain('0 attempts, 1 miss')
  expect(provider.seen.length).toBe(before)
  expect(existsSync(join(cassettes, 'other.yaml'))).toBe(false)
})

test('record: fails when a cassette stays incomplete', async () => {
  const late = join(folder.path, 'late')
  const replacing: Program = async (surroundings) => {
    writeFileSync(late, 'a file in the place of the folder')
    return sending(['one'])(surroundings)
  }
  const { code, run } = await executed(replacing, { record: join(late, 'cassettes') })
  expect([code, run.verdict]).toEqual([3, 'fail'])
  expect(run.cassettes?.sessions[0]?.recorded?.problem).toContain('ENOTDIR')
})

test.each([
  [['exec', '--record', import.meta.path], 'is a file: the folder of cassettes cannot be there'],
  [
    ['exec', '--record', join(import.meta.path, 'a', 'b')],
    `cassettes cannot be written to "${join(import.meta.path, 'a', 'b')}": ${import.meta.path} is a file`,
  ],
  [['record', '--out', ''], '--out must be a folder, got ""'],
  [['record', '--only', 'a', '--out', 'no-such-folder'], '--out "no-such-folder" is not a folder'],
  [['exec', '--record', 'a', '--replay', 'b'], '--record and --replay exclude each other'],
  [
    ['exec', '--replay', '.', '--backend', 'forward'],
    '--replay and --backend forward exclude each other: leave out --backend to replay, or --replay to call providers',
  ],
  [
    ['explore', '--replay', '.', '--backend', 'forward', '--on-miss', 'error'],
    '--on-miss forward calls them for requests that were not recorded',
  ],
  [
    ['exec', '--replay', '.', '--backend', 'fixture'],
    '--backend "fixture" lets no call reach a provider, so nothing would be replayed: leave it out',
  ],
  [['record', '--backend', 'fixture'], 'so nothing would be recorded: leave it out'],
  [['exec', '--replay', 'no-such-folder'], '--replay "no-such-folder" is not a folder'],
  [['exec', '--replay', '.', '--on-miss', 'synthesize'], 'a generated response would be taken for a recorded one'],
  [['exec', '--replay', '.', '--speed', 'fast'], '--speed must be real, instant, or a factor such as 10, got "fast"'],
  [['exec', '--replay', '.', '--allow', 'all'], '--allow must be sampling or prefix, got "all"'],
  [['exec', '--record', 'a', '--seed', '1', '--seed', '2'], '--record runs the command once'],
  [['explore', '--record', 'a'], 'explore does not record: use understudy record, then --replay'],
  [['explore', '--replay', '.', '--on-miss', 'record'], 'explore does not record: set --on-miss to error or forward'],
  [['exec', '--on-miss', 'forward'], '--on-miss "forward" has no effect without a replay: use it with --replay DIR'],
  [['exec', '--record', 'a', '--allow', 'prefix'], '--allow ["prefix"] has no effect without a replay'],
  [['explore', '--speed', '10'], '--speed "10" has no effect without a replay'],
  [['record', '--speed', 'real'], '--speed "real" has no effect without a replay'],
  [['record', '--doctor', '--speed', 'real'], '--speed "real" has no effect without a replay'],
  [['record', '--doctor', '--only', 'a'], '--doctor and --only exclude each other'],
])('cassette flags, %j: are an error that says why', async (args, message) => {
  const { code, stderr } = await runCommand([...args, '--', 'true'])
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})

test('exec --replay: allows --backend where something is left for it to do', () => {
  const read = (flags: Record<string, unknown>, environment = {}) =>
    readConfig({ config: settings, ...flags }, environment)
  for (const onMiss of ['forward', 'record'])
    expect(read({ replay: cassettes, on_miss: onMiss, backend: 'forward' }).forwarding.isOffline).toBe(false)
  // The variable may be for other commands.
  expect(read({ replay: cassettes }, { UNDERSTUDY_BACKEND: 'forward' }).forwarding.isOffline).toBe(true)
  expect(() => read({ backend: 'forward' }, { UNDERSTUDY_REPLAY: cassettes })).toThrow(
    'UNDERSTUDY_REPLAY and --backend forward exclude each other',
  )
  const mixed = join(folder.path, 'mixed.yaml')
  writeFileSync(mixed, 'backend: fixture\nproviders:\n  openai: { backend: forward }\n')
  const { upstreams } = readConfig({ config: mixed, replay: cassettes }, {}).forwarding
  expect(upstreams.map(({ name }) => name)).toEqual(['openai'])
})

test('record --doctor: does not call runs with different requests the same', async () => {
  const script = `await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm' + process.pid, messages: [{ role: 'user', content: 'Hi' }] }),
  })`
  const { stderr } = await runCommand([
    'record',
    '--doctor',
    '--config',
    settings,
    '--',
    process.execPath,
    '-e',
    script,
  ])
  expect(stderr).toContain('1 of 1 requests of the first run have no equal in the second')
  expect(stderr).not.toContain('the same requests')
})

test('exec --record: prints five kept cassettes of a failed command, and the number of the others', async () => {
  const sessions = Array.from({ length: 7 }, (_, index) => `many-${index}`)
  const all =
    (code: number): Program =>
    async (surroundings) => {
      for (const session of sessions) await sending(['one'], { session })(surroundings)
      return code
    }
  await executed(all(0), { record: cassettes })
  const { text } = await executed(all(1), { record: cassettes })
  expect(text.match(/the command failed, so /g)).toHaveLength(5)
  expect(text).toContain('recorded      the same for 2 more cassettes')
})

test('settings of a replay in a file or the environment: are named when nothing is replayed, and do not fail the run', async () => {
  writeFileSync(join(folder.path, 'shared.yaml'), 'speed: real\n')
  const run = (args: string[]) =>
    runCommand(['exec', '--config', 'shared.yaml', ...args, '--', 'true'], {
      cwd: folder.path,
      env: { UNDERSTUDY_ON_MISS: 'forward', PATH: process.env.PATH ?? '' },
    })
  const { code, stderr } = await run([])
  expect(stderr).toContain('UNDERSTUDY_ON_MISS "forward" has no effect without a replay')
  expect(stderr).toContain('shared.yaml:1: speed "real" has no effect without a replay')
  expect(code).toBe(0)
  expect((await run(['--replay', 'cassettes'])).stderr).not.toContain('has no effect')
})

describe('exec --record: calls that are not sent to a provider', () => {
  const missingKey = join(folder.path, 'missing-key.yaml')
  const target = join(folder.path, 'not-sent')
  beforeAll(() => writeFileSync(missingKey, 'providers:\n  openai: { backend: forward }\n'))

  test('make the run inconclusive if the provider has no key', async () => {
    const { code, run, text } = await executed(sending(['hello', 'more']), { config: missingKey, record: target })
    expect([code, run.verdict]).toEqual([3, 'inconclusive'])
    const message = 'openai needs a key: set OPENAI_API_KEY, or providers.openai.api_key in understudy.yaml'
    expect(run.sessions[0]?.not_sent).toEqual([{ code: 'provider_not_configured', message, count: 2 }])
    expect(run.inconclusive).toEqual([`2 calls were not sent to a provider: ${message}`])
    expect(text).toContain(`  not sent      2 calls were not sent to a provider: ${message}`)
    expect(junit([run])).toContain('failure message="INCONCLUSIVE: 2 calls were not sent to a provider: openai needs')
    expect(existsSync(target)).toBe(false)
  })

  test('make the run inconclusive after --max-calls, although other sessions are conclusive', async () => {
    const program: Program = async (surroundings) => {
      await sending(['hello'], { session: 'first' })(surroundings)
      await sending(['hello', 'more'], { session: 'second', retries: false })(surroundings)
      await sending(['more'], { session: 'third', retries: false })(surroundings)
    }
    const { code, run, text } = await executed(program, { record: target, max_calls: 1 })
    expect([code, run.verdict]).toEqual([3, 'inconclusive'])
    expect(run.inconclusive).toEqual([
      expect.stringMatching(/^3 calls were not sent to a provider: this call is not forwarded: 1 of at most 1 calls/),
    ])
    expect(run.sessions.map(({ session, verdict }) => [session, verdict])).toEqual([
      ['first', 'pass'],
      ['second', 'inconclusive'],
      ['third', 'inconclusive'],
    ])
    expect(text).toContain('  recorded      1 interaction, 1 attempt, 1 cassette in')
  })

  test('leave the older cassettes of their sessions in place', async () => {
    const [longer, equal] = ['longer', 'equal']
    const program: Program = async (surroundings) => {
      await sending(['hello'], { session: equal })(surroundings)
      await sending(['hello', 'more'], { session: longer, retries: false })(surroundings)
    }
    await executed(program, { record: target })
    const files = [longer, equal].map((name) => join(target, `${name}.yaml`))
    const [before] = files.map((file) => readFileSync(file, 'utf8'))
    const { code, text } = await executed(program, { record: target, max_calls: 2 })
    expect(code).toBe(3)
    expect(files.map((file) => readCassette(file).interactions.length)).toEqual([2, 1])
    expect(readFileSync(files[0] ?? '', 'utf8')).toBe(before ?? '')
    const beside = join(target, 'longer~failed.yaml')
    expect(text).toContain(
      `calls were not sent, so ${files[0]} stays as it was; to replay the new recording, rename ${beside}`,
    )
    expect(readdirSync(target).filter((name) => name.includes('~'))).toEqual(['longer~failed.yaml'])
  })

  test('are named by record --doctor, which proposes nothing then', async () => {
    const script = `await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
    })`
    const { code, stderr } = await runCommand([
      ...['record', '--doctor', '--config', missingKey, '--', process.execPath, '-e', script],
    ])
    expect(stderr).toContain('1 call was not sent to a provider: openai needs a key: set OPENAI_API_KEY')
    expect(stderr).toContain('so nothing is proposed')
    expect(code).toBe(3)
  })
})
