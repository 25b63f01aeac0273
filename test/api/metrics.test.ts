// /_understudy/metrics: what Prometheus reads of calls, verdicts and the program.
import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { accepted } from '../support/accepted.ts'
import { agentSession } from '../support/agents.ts'
import { testApps } from '../support/app.ts'

const { appWith, close } = testApps()
afterAll(close)

const CHAT = '/v2/router/chat/completions'
const body = (more: object = {}) => ({
  model: 'openai/gpt-4o-mini',
  messages: [{ role: 'user', content: 'Tell me about Xylophone-4711' }],
  ...more,
})
const scenario = {
  name: 'bad-day',
  rules: [
    { name: 'too "many"', when: { calls: '1-2' }, fault: { type: 'http-error', status: 429, retry_after: '3s' } },
  ],
}

/** The samples of a text, by name and labels; throws for what Prometheus could not read. */
function samplesIn(text: string): Record<string, number> {
  const samples: Record<string, number> = {}
  const typed = new Set<string>()
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, name, type] = /^# TYPE (\w+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (name && type) typed.add(name)
    if (line.startsWith('# ')) continue
    const [, key = '', value = ''] =
      /^([a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})?) (\S+)$/.exec(line) ?? []
    const family = key.replace(/\{.*/, '')
    if (!typed.has(family) && !typed.has(family.replace(/_(bucket|sum|count)$/, '')))
      throw new Error(`no metric: ${line}`)
    expect(Number.isFinite(Number(value))).toBe(true)
    expect(samples).not.toHaveProperty([key])
    samples[key] = Number(value)
  }
  return samples
}
const ofCall = (labels: string) => `understudy_calls_total{operation="chat.completions",${labels},origin="client"}`

test('metrics: count calls, attempts, faults, findings and latencies from the first one on', async () => {
  const app = appWith()
  const scrape = async () => {
    const answer = await app.fetch('/_understudy/metrics')
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    return answer.text
  }
  await app.post(CHAT, body())
  await app.post(CHAT, body({ stream: true }))
  expect((await app.post('/_understudy/sessions', { name: 'one', scenario })).status).toBeLessThan(300)
  for (let call = 0; call < 2; call++) await app.post(CHAT, body(), { 'x-understudy-session': 'one' })
  for (let asked = 0; asked < 2; asked++) await app.fetch('/s/one/_understudy/verify')
  const text = await scrape()
  const samples = samplesIn(text)
  expect(samples).toMatchObject({
    [ofCall('outcome="succeeded",status="200"')]: 2,
    [ofCall('outcome="http_error",status="429"')]: 2,
    'understudy_attempts_total{provider="openai",outcome="succeeded",reason="first"}': 2,
    'understudy_attempts_total{provider="openai",outcome="http_error",reason="first"}': 2,
    'understudy_faults_total{scenario="bad-day",rule="too \\"many\\""}': 2,
    'understudy_findings_total{kind="early-retry",severity="error",accepted="false"}': 1,
    'understudy_call_duration_seconds_bucket{operation="chat.completions",le="+Inf"}': 4,
    'understudy_call_duration_seconds_count{operation="chat.completions"}': 4,
    'understudy_first_content_seconds_count{operation="chat.completions"}': 1,
    'understudy_attempt_duration_seconds_count{provider="openai"}': 4,
    understudy_sessions: 2,
    understudy_traces: 4,
    understudy_traces_dropped_total: 0,
    understudy_events_waiting: 0,
  })
  expect(samples.process_resident_memory_bytes).toBeGreaterThan(1e6)
  expect(text).not.toContain('Xylophone')
  for (let call = 0; call < 100; call++) await app.post(CHAT, body())
  expect(samplesIn(await scrape())[ofCall('outcome="succeeded",status="200"')]).toBe(102)
})

test('metrics: stay bounded whatever the names of scenarios and rules', async () => {
  const app = appWith()
  const { observers } = app.understudy
  const trace = await app.traceOf(await app.post(CHAT, body()))
  for (let seq = 2; seq < 3_000; seq++)
    observers.notify({ type: 'trace-saved', session: 'default', seq, trace: { ...trace, faults: [`rule ${seq}`] } })
  const samples = samplesIn((await app.fetch('/_understudy/metrics')).text)
  const faults = Object.entries(samples).filter(([name]) => name.startsWith('understudy_faults_total'))
  expect(faults.length).toBeLessThan(600)
  expect(faults.reduce((sum, [, count]) => sum + count, 0)).toBe(2_998)
})

test('dashboard: queries only existing metrics', async () => {
  const app = appWith({ telemetry: readConfig({ otlp: 'http://127.0.0.1:9' }, {}).telemetry })
  const text = (await app.fetch('/_understudy/metrics')).text
  await app.understudy.telemetry?.stop(0)
  const known = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name)
  const dashboard = readFileSync(join(import.meta.dir, '..', '..', 'deploy', 'grafana-dashboard.json'), 'utf8')
  const asked = [...dashboard.matchAll(/\b(?:understudy|process)_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''))
  expect(asked.length).toBeGreaterThan(10)
  expect(asked.filter((name) => !known.includes(name))).toEqual([])
})

test('metrics: hide names of scenarios, rules and providers without a valid token', async () => {
  const own = { ...scenario, name: 'acme-secret-plan' }
  const rules = [
    ...own.rules,
    { name: 'tell nobody', when: { calls: '3-4' }, fault: { type: 'http-error', status: 503 } },
  ]
  for (const settings of [{}, { token: ['let-me-in'] }]) {
    const app = appWith(settings)
    const token = { authorization: `Bearer ${settings.token?.[0] ?? 'any'}` }
    const put = await app.fetch('/_understudy/scenario', {
      method: 'PUT',
      headers: { ...token, 'content-type': 'application/json' },
      body: JSON.stringify({ ...own, rules }),
    })
    expect([put.status, put.text]).toEqual([200, expect.any(String)])
    for (let call = 0; call < 4; call++) await app.post(CHAT, body(), token)
    const trace = await app.understudy.app.fetch(
      new Request('http://localhost/_understudy/traces?limit=1', { headers: token }),
    )
    const [one] = ((await trace.json()) as { data: TraceRecord[] }).data
    if (!one) throw new Error('there is no trace')
    const attempts = one.attempts.map((attempt) => ({ ...attempt, target: 'acme-internal/m' }))
    app.understudy.observers.notify({ type: 'trace-saved', session: 'default', seq: 9, trace: { ...one, attempts } })
    const scrape = async (headers: Record<string, string>) =>
      (await app.understudy.app.fetch(new Request('http://localhost/_understudy/metrics', { headers }))).text()
    const known = await scrape(token)
    for (const name of ['acme-secret-plan', 'tell nobody', 'acme-internal']) expect(known).toContain(name)
    const strangers = settings.token ? [{}, { authorization: 'Bearer guessed' }] : [{}]
    for (const stranger of strangers as Record<string, string>[]) {
      const text = await scrape(stranger)
      for (const name of ['acme-secret-plan', 'tell nobody', 'acme-internal']) expect(text).not.toContain(name)
      const samples = samplesIn(text)
      expect(samples.understudy_faults_total).toBe(5)
      expect(samples['understudy_attempt_duration_seconds_count{provider="other"}']).toBe(1)
      expect(
        samples[
          'understudy_calls_total{operation="chat.completions",outcome="http_error",status="429",origin="client"}'
        ],
      ).toBe(2)
    }
  }
})
test('metrics: never decrease the count of dropped traces', async () => {
  const app = appWith({ keep_traces: 2 })
  const dropped = async () => {
    const { understudy_traces_dropped_total: total } = samplesIn((await app.fetch('/_understudy/metrics')).text)
    const { counts } = (await app.fetch('/_understudy/health')).json() as { counts: { traces_dropped: number } }
    expect(counts.traces_dropped).toBe(total as number)
    return total
  }
  const calls = async (session: string, count: number) => {
    for (let call = 0; call < count; call++) await app.post(CHAT, body(), { 'x-understudy-session': session })
  }
  await calls('one', 5)
  expect(await dropped()).toBe(3)
  await calls('one', 2)
  // Nobody has looked since.
  await app.fetch('/_understudy/sessions/one', { method: 'DELETE' })
  expect(await dropped()).toBe(5)
  await calls('one', 3)
  expect(await dropped()).toBe(6)
  await accepted(app.fetch('/_understudy/sessions/one/reset', { method: 'POST' }))
  expect(await dropped()).toBe(6)
  await calls('one', 4)
  expect(await dropped()).toBe(8)
  await accepted(app.fetch('/_understudy/reset?all=true', { method: 'POST' }))
  expect(await dropped()).toBe(8)
})

test('metrics: count a task of an agent that no one observes', async () => {
  const { app, begin, agent, ask, settled } = agentSession(appWith())
  await begin(['Hello.'])
  await agent()
  const { id } = await ask({ role: 'user', parts: [{ kind: 'text', text: 'Hi' }] })
  await settled(id)
  expect(samplesIn((await app.fetch('/_understudy/metrics')).text)).toMatchObject({
    'understudy_calls_total{operation="agent.task",outcome="succeeded",status="200",origin="client"}': 1,
  })
})
