// `understudy drift` as a user runs it: a provider that has changed, cassettes of what it was, and the report.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CassetteWriter } from '../../src/cassettes/write.ts'
import { DriftJson } from '../../src/cli/print/report-schemas.ts'
import type { UpstreamRequest } from '../../src/contract/core/cassette.ts'
import { runCommand } from '../support/cli.ts'

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000 },
}
const request = (text: string): UpstreamRequest => ({
  provider: 'openai',
  operation: 'chat.completions',
  model: 'gpt-4o',
  path: '/v1/chat/completions',
  headers: { 'openai-beta': 'x=1' },
  body: { kind: 'json', value: { model: 'gpt-4o', messages: [{ role: 'user', content: text }] } },
})

let folder = ''
let provider: ReturnType<typeof Bun.serve>
/** What the provider does now, and what it was sent. */
let respond: () => Response = () => Response.json(completion)
const sent: { url: string; headers: Headers; body: unknown }[] = []

async function record(session: string, texts: readonly string[]): Promise<void> {
  const problems: string[] = []
  const header = { session, recorded: '2026-11-26', understudy: '1.0.0', volatile: [], redact: [] }
  const writer = new CassetteWriter(join(folder, 'cassettes'), header, { report: (problem) => problems.push(problem) })
  for (const text of texts) {
    const bytes = new TextEncoder().encode(JSON.stringify(completion))
    const response = {
      status: 200,
      headers: [['content-type', 'application/json']] as const,
      at: 5,
      frames: [{ at: 6, bytes }],
    }
    await writer.append({ turn: 1, request: request(text), attempts: [{ response, end: 'complete', endedAt: 7 }] })
  }
  await writer.finish()
  expect(problems).toEqual([])
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drift-'))
  provider = Bun.serve({
    port: 0,
    async fetch(received) {
      sent.push({ url: received.url, headers: received.headers, body: await received.json() })
      return respond()
    },
  })
  const settings = `providers:\n  openai:\n    base_url: http://127.0.0.1:${provider.port}/v1\n    api_key: sk-test-1234567890\n`
  writeFileSync(join(folder, 'understudy.yaml'), settings)
  await record('checkout', ['one', 'two'])
  await record('private', ['Write to <secret:email:1>.'])
})
afterAll(async () => {
  await provider.stop(true)
  rmSync(folder, { recursive: true })
})

const drift = (...args: string[]) => runCommand(['drift', 'cassettes', '--only', 'checkout', ...args], { cwd: folder })

describe('drift', () => {
  test('asks the recorded requests again, with the key and the headers that matter', async () => {
    sent.length = 0
    respond = () => Response.json({ ...completion, id: 'chatcmpl-2' })
    const { code, stdout } = await drift()
    expect(stdout).toContain('2 recorded requests: 2 same')
    expect(code).toBe(0)
    expect(sent.map(({ url }) => new URL(url).pathname)).toEqual(['/v1/chat/completions', '/v1/chat/completions'])
    expect(sent[0]?.headers.get('authorization')).toBe('Bearer sk-test-1234567890')
    expect(sent[0]?.headers.get('openai-beta')).toBe('x=1')
    expect(sent.map(({ body }) => body)).toContainEqual({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'two' }],
    })
  })

  test('reports no change for a provider that compresses although it should not', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    respond = () => new Response(Bun.gzipSync(JSON.stringify(completion)), { headers })
    const { code, stdout } = await drift()
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('2 recorded requests: 2 same') })
  })

  test('groups requests by change, and ends with 4 for an error', async () => {
    respond = () => Response.json({ ...completion, created: 'today', extra: true })
    const { code, stdout } = await drift()
    expect(code).toBe(4)
    expect(stdout).toMatch(
      /^error: openai: created: was number, is string .*\n {2}cassettes\/checkout\.yaml:\d+ .*, cassettes\/checkout\.yaml:\d+/m,
    )
    expect(stdout).toContain('info: openai: extra')
    expect(stdout).toContain('2 recorded requests: 2 changed')
  })

  test('prints JSON', async () => {
    respond = () => Response.json({ ...completion, extra: true })
    const { code, stdout } = await drift('--json')
    expect(code).toBe(0)
    const report = DriftJson.parse(JSON.parse(stdout))
    expect(report.exit_code).toBe(0)
    expect(report.requests.map(({ result, changes }) => [result, changes.map(({ kind }) => kind)])).toEqual([
      ['changed', ['field-new']],
      ['changed', ['field-new']],
    ])
    expect(report.cost.usd).toBeGreaterThan(0)
  })

  const unread: [string, () => Response, string][] = [
    ['without access', () => new Response('{}', { status: 401 }), 'not reachable: the provider returned status 401'],
    [
      'for an empty body',
      () => new Response('', { headers: { 'content-type': 'application/json' } }),
      'the live response is empty',
    ],
    [
      'for HTML',
      () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
      'the live response is HTML, not JSON',
    ],
  ]
  test.each(unread)('ends with 5 %s', async (_, now, text) => {
    respond = now
    const { code, stdout } = await drift()
    expect(stdout).toContain(text)
    expect(code).toBe(5)
  })

  test('ends with 5 when the connection is refused, without the key in the report', async () => {
    const config = join(folder, 'closed.yaml')
    writeFileSync(
      config,
      'providers:\n  openai:\n    base_url: http://127.0.0.1:1/v1\n    api_key: sk-test-1234567890\n',
    )
    const { code, stdout, stderr } = await drift('--config', config)
    expect(code).toBe(5)
    expect(stdout).toContain('not reachable: ')
    expect(stdout + stderr).not.toContain('sk-test')
  })

  test('ends with 5 for a response that comes after the time limit', async () => {
    // The timer of the limit cannot end the request while this blocks the thread.
    respond = () => {
      Bun.sleepSync(20)
      return Response.json(completion)
    }
    const { code, stdout } = await drift('--timeout', '1ms')
    expect(stdout).toContain('not reachable: no whole response within 1 ms (--timeout)')
    expect(stdout).not.toContain('same')
    expect(code).toBe(5)
  })

  test('ends with 5 for a response that begins in time and does not end', async () => {
    respond = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(JSON.stringify(completion).slice(0, 40))),
        }),
        { headers: { 'content-type': 'application/json' } },
      )
    const { code, stdout } = await drift('--timeout', '100ms')
    expect(stdout).toContain('not reachable: no whole response within 100 ms (--timeout)')
    expect(code).toBe(5)
  })

  test('does not ask what would exceed the limit on cost', async () => {
    sent.length = 0
    respond = () => Response.json(completion)
    // One of them costs 0.0125 USD.
    const { code, stdout } = await drift('--max-cost', '0.02')
    expect(sent).toHaveLength(1)
    expect(stdout).toContain('not asked: it would exceed --max-cost (0.02 USD)')
    expect(code).toBe(5)
  })

  test('does not ask a redacted request', async () => {
    sent.length = 0
    const { code, stdout } = await runCommand(['drift', 'cassettes', '--only', 'private'], { cwd: folder })
    expect(sent).toEqual([])
    expect(stdout).toContain('not comparable: the request contains <secret:email:1>, whose value was not recorded')
    expect(code).toBe(5)
  })

  test('names every broken cassette of a folder, and asks nothing', async () => {
    sent.length = 0
    const broken = join(folder, 'broken')
    cpSync(join(folder, 'cassettes'), broken, { recursive: true })
    writeFileSync(join(broken, 'a.yaml'), 'interactions: []\nversion: 1\n')
    writeFileSync(join(broken, 'b.yaml'), 'cassette: 9\n')
    const { code, stderr } = await runCommand(['drift', 'broken'], { cwd: folder })
    expect(stderr).toContain('broken/a.yaml:1: the file is a cassette of vcrpy')
    expect(stderr).toContain('broken/b.yaml:1:1: the cassette has format 9')
    expect([code, sent]).toEqual([2, []])
  })

  test('leaves out what a failed or interrupted recording has left beside a cassette', async () => {
    const beside = join(folder, 'beside')
    cpSync(join(folder, 'cassettes', 'checkout.yaml'), join(beside, 'checkout.yaml'))
    for (const state of ['failed', 'incomplete'])
      cpSync(join(folder, 'cassettes', 'checkout.yaml'), join(beside, `checkout~${state}.yaml`))
    respond = () => Response.json(completion)
    expect((await runCommand(['drift', 'beside'], { cwd: folder })).stdout).toContain('2 recorded requests: 2 same')
  })

  test('changes no cassette', async () => {
    const read = () =>
      readdirSync(join(folder, 'cassettes')).map((name) => readFileSync(join(folder, 'cassettes', name), 'utf8'))
    const before = read()
    respond = () => Response.json({ ...completion, extra: true })
    await drift()
    expect(read()).toEqual(before)
  })

  const mistakes: [string, string[], string][] = [
    ['an unknown cassette', ['cassettes', '--only', 'chekout'], "did you mean 'checkout'?"],
    ['the sessions there are', ['cassettes', '--only', 'x'], '; sessions: checkout, private'],
    ['a cost that is none', ['cassettes', '--max-cost', 'ten'], '--max-cost must be a number of USD'],
    ['a folder without cassettes', ['.git-none'], '.git-none'],
  ]
  test.each(mistakes)('names %s', async (_, args, text) => {
    const { code, stderr } = await runCommand(['drift', ...args], { cwd: folder })
    expect(stderr).toContain(text)
    expect([1, 2]).toContain(code)
  })
})
