// What clients receive of a provider that misbehaves, while it is recorded, and from its cassette: byte for byte the same.
// Slow because silent providers and recorded latency take real time for three SDKs.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { listen } from '../../src/cli/run/listen.ts'
import { readForwarding } from '../../src/config/providers.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { at } from '../support/forward.ts'
import { startMisbehaving, WAYS } from '../support/misbehaving.ts'
import { postRaw } from '../support/raw-http.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

/** Longer than the clients wait for a silent provider. */
const CLIENT_TIMEOUT = 1_500
const silent = (way: string) => way.startsWith('silence')

/** A server that records or replays. */
async function serve(url: string, settings: Partial<Config>) {
  const section = { value: { openai: at(url), anthropic: at(url) }, locationOf: () => '' }
  const isOffline = settings.replay !== undefined
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {}, isOffline })
  const config = { ...readConfig({ host: '127.0.0.1' }, {}), db: ':memory:', port: 0, forwarding, ...settings }
  const understudy = createUnderstudy(config, (error) => {
    throw error
  })
  const servers = await listen(config, understudy)
  return {
    url: `http://127.0.0.1:${servers[0]?.port}`,
    cassettes: () => understudy.cassettes?.report(),
    async stop() {
      await understudy.cassettes?.finish()
      await Promise.all(servers.map((server) => server.stop(true)))
      understudy.sessions.close()
    },
  }
}

/** What differs from run to run: ids, dates and the address. */
const masked = (text: string): string =>
  text
    .replace(/\b0[0-9A-HJKMNP-TV-Z]{25}\b/g, 'ULID')
    .replace(/127\.0\.0\.1:\d+/g, 'HOST')
    .replace(/"created":\s?\d{10}/g, '"created":0')

const failure = (error: unknown): string => {
  const { name, status, message, error: body } = error as Record<string, unknown>
  return masked(JSON.stringify({ name, status, message, body }))
}
/** The result of a call, or its error. */
const outcome = async (call: () => Promise<unknown>): Promise<string> => {
  try {
    return masked(JSON.stringify(await call()))
  } catch (error) {
    return failure(error)
  }
}

type Client = (url: string, way: string) => Promise<string>
const raw =
  (path: string, stream: boolean): Client =>
  async (url, way) => {
    const body = {
      model: `openai/gpt-4o`,
      stream,
      messages: [{ role: 'user', content: `way: ${way}/${path}/${stream}` }],
    }
    const session = { 'x-understudy-session': `raw-${stream}` }
    const {
      status,
      headers,
      body: text,
      end,
      broken,
    } = await postRaw(`${url}${path}`, body, session, { ms: silent(way) ? CLIENT_TIMEOUT : 20_000 })
    const seen = [...headers]
      .filter(([name]) => !/^(?:date|x-understudy-(?:trace|instance|call-site))$/.test(name))
      .sort()
    return masked(JSON.stringify({ status, seen, text, end, broken }))
  }
const apiKey = 'session:sdk'
const openai =
  (stream: boolean): Client =>
  (url, way) => {
    const client = new OpenAI({
      baseURL: `${url}/v1`,
      apiKey,
      maxRetries: silent(way) ? 0 : 1,
      timeout: silent(way) ? CLIENT_TIMEOUT : 20_000,
    })
    const messages = [{ role: 'user' as const, content: `way: ${way}/openai/${stream}` }]
    return outcome(async () => {
      if (!stream) return client.chat.completions.create({ model: 'gpt-4o', messages })
      const chunks: unknown[] = []
      try {
        const events = await client.chat.completions.create({ model: 'gpt-4o', messages, stream: true })
        const timer = silent(way) ? setTimeout(() => events.controller.abort(), CLIENT_TIMEOUT) : undefined
        for await (const one of events) chunks.push(one)
        clearTimeout(timer)
        return chunks
      } catch (error) {
        return [...chunks, failure(error)]
      }
    })
  }
const anthropic =
  (stream: boolean): Client =>
  (url, way) => {
    const client = new Anthropic({
      baseURL: url,
      apiKey,
      maxRetries: silent(way) ? 0 : 1,
      timeout: silent(way) ? CLIENT_TIMEOUT : 20_000,
    })
    const body = {
      model: 'claude-opus-4-8',
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: `way: ${way}/anthropic/${stream}` }],
    }
    return outcome(async () => {
      if (!stream) return client.messages.create(body)
      const events: unknown[] = []
      try {
        const all = await client.messages.create({ ...body, stream: true })
        const timer = silent(way) ? setTimeout(() => all.controller.abort(), CLIENT_TIMEOUT) : undefined
        for await (const one of all) events.push(one)
        clearTimeout(timer)
        return events
      } catch (error) {
        return [...events, failure(error)]
      }
    })
  }
const aiSdk =
  (stream: boolean): Client =>
  (url, way) => {
    const provider = createOpenAICompatible({ name: 'understudy', baseURL: `${url}/v1`, apiKey })
    const about = {
      model: provider('gpt-4o'),
      prompt: `way: ${way}/ai/${stream}`,
      maxRetries: silent(way) ? 0 : 1,
      ...(silent(way) && { abortSignal: AbortSignal.timeout(CLIENT_TIMEOUT) }),
    }
    return outcome(async () => {
      if (!stream) return (await generateText(about)).text
      const parts: unknown[] = []
      for await (const part of streamText({ ...about, onError() {} }).fullStream)
        parts.push(part.type === 'error' ? failure(part.error) : part.type === 'text-delta' ? part.text : part.type)
      return parts
    })
  }

const CLIENTS: Readonly<Record<string, Client>> = {
  'raw, direct, whole': raw('/v1/chat/completions', false),
  'raw, direct, stream': raw('/v1/chat/completions', true),
  'raw, gateway, whole': raw('/v2/router/chat/completions', false),
  'raw, gateway, stream': raw('/v2/router/chat/completions', true),
  'OpenAI SDK, whole': openai(false),
  'OpenAI SDK, stream': openai(true),
  'Anthropic SDK, whole': anthropic(false),
  'Anthropic SDK, stream': anthropic(true),
  'AI SDK, whole': aiSdk(false),
  'AI SDK, stream': aiSdk(true),
}
/** Bytes in every way; packages, which read the same bytes, in every third one. */
const ROWS = Object.keys(WAYS).flatMap((way, number) =>
  Object.keys(CLIENTS)
    .filter((client) => way !== 'silence in the stream' || client.includes('stream'))
    .filter((client, index) => client.startsWith('raw') || (number + index) % 3 === 0)
    .map((client) => [way, client] as const),
)

type Results = Map<string, { outcome: string; took: number }>
/** What every client receives in every way, all of them at once. */
async function receivedFrom(url: string): Promise<Results> {
  const results: Results = new Map()
  const call = async ([way, client]: readonly [string, string]) => {
    const began = performance.now()
    const received = (await CLIENTS[client]?.(url, way)) ?? ''
    results.set(`${way}, ${client}`, { outcome: received, took: performance.now() - began })
  }
  // Clients that measure silence are not disturbed by all others.
  await Promise.all(ROWS.filter(([way]) => !silent(way)).map(call))
  await Promise.all(ROWS.filter(([way]) => silent(way)).map(call))
  return results
}

let [recorded, real, instant]: Results[] = []
let reports: unknown[] = []

beforeAll(async () => {
  const provider = await startMisbehaving()
  const recording = await serve(provider.url, { record: folder.path })
  recorded = await receivedFrom(recording.url)
  await recording.stop()
  provider.stop()
  const slow = await serve(provider.url, { replay: folder.path })
  real = await receivedFrom(slow.url)
  reports = [slow.cassettes()]
  await slow.stop()
  const fast = await serve(provider.url, { replay: folder.path, speed: 'instant' })
  instant = await receivedFrom(fast.url)
  reports.push(fast.cassettes())
  await fast.stop()
}, 60_000)

test.each(ROWS)('replay of "%s" for %s: equals what was recorded', (way, client) => {
  const name = `${way}, ${client}`
  const expected = recorded?.get(name)
  expect(real?.get(name)?.outcome).toBe(expected?.outcome ?? '')
  expect(instant?.get(name)?.outcome).toBe(expected?.outcome ?? '')
})
test('replay: has no misses and leaves nothing unused', () => {
  for (const report of reports)
    for (const { replayed } of (report as { sessions: { replayed: { misses: unknown[]; unused: unknown[] } }[] })
      .sessions)
      expect(replayed).toMatchObject({ misses: [], unused: [] })
})
