// APIs that are not emulated, under exec: each call is refused by name, in a form that its client library reads, and the run is no pass.
import { expect, setDefaultTimeout, test } from 'bun:test'
import { once } from 'node:events'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { generateText } from 'ai'
import { AzureOpenAI, NotFoundError } from 'openai'
import { runLines } from '../../src/cli/print/report.ts'
import { leftVariables } from '../../src/cli/run/not-emulated.ts'
import type { RunReport } from '../../src/cli/run/run-report.ts'
import { runAsJson } from '../../src/cli/run/suite-run.ts'
import { NOT_EMULATED_APIS } from '../../src/compat/not-emulated.ts'
import { plainLines, testIo } from '../support/cli.ts'
import { play } from '../support/exec.ts'
import { client } from '../support/in-process.ts'
import type { Program, Surroundings } from '../support/programs/surroundings.ts'

setDefaultTimeout(60_000)

/** A call as each client library makes it. */
const CALLS = {
  GOOGLE_GEMINI_BASE_URL: {
    path: '/v1beta/models/gemini-3-pro:generateContent',
    query: '?key=secret-1',
    body: { contents: [{ parts: [{ text: 'hi' }] }] },
  },
  AZURE_OPENAI_ENDPOINT: {
    path: '/openai/deployments/my-gpt/chat/completions',
    query: '?api-version=2026-04-01',
    body: { messages: [{ role: 'user', content: 'hi' }] },
  },
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: {
    path: '/model/anthropic.claude-sonnet-4-v1%3A0/converse',
    query: '',
    body: { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
  },
  OLLAMA_HOST: { path: '/api/chat', query: '', body: { model: 'llama3', messages: [] } },
} as const
type Variable = keyof typeof CALLS
const variables = Object.keys(CALLS) as Variable[]

const post = ({ env, fetch }: Surroundings, variable: Variable) => {
  const { path, query, body } = CALLS[variable]
  return fetch(`${env[variable]}${path}${query}`, { method: 'POST', body: JSON.stringify(body) })
}

/** A call that is emulated, in the session of the command. */
const emulated = ({ env, fetch }: Surroundings) =>
  fetch(`${env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${env.OPENAI_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
  })

/** What a program that catches everything found. */
async function caught<Found>(look: (surroundings: Surroundings) => Promise<Found>, more = {}) {
  const found: Found[] = []
  const program: Program = async (surroundings) => {
    found.push(await look(surroundings))
  }
  const { run, code } = await play(program, undefined, { leaveEnv: [], ...more })
  return { found: found[0] as Found, run, code }
}

test('exec and APIs that are not emulated: names each API and each variable once, and has a call of each here', () => {
  expect(NOT_EMULATED_APIS.map(({ variable }) => variable)).toEqual(variables)
})

const MESSAGE = (variable: Variable) => {
  const { name } = NOT_EMULATED_APIS.find((api) => api.variable === variable) ?? { name: '' }
  return `Understudy does not emulate ${name} (POST ${CALLS[variable].path}). It emulates OpenAI's API (/v1) and Anthropic's API (/v1/messages). To reach another server, set ${variable} before understudy exec; to leave it unset, use --leave-env ${variable}.`
}
const BODIES: Record<Variable, (message: string) => object> = {
  GOOGLE_GEMINI_BASE_URL: (message) => ({ error: { code: 404, message, status: 'NOT_FOUND' } }),
  AZURE_OPENAI_ENDPOINT: (message) => ({
    error: { message, type: 'invalid_request_error', param: null, code: 'not_emulated' },
  }),
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: (message) => ({ message }),
  OLLAMA_HOST: (message) => ({ error: message }),
}

test.concurrent.each(variables)('%s: refuses a call by name, and the run is inconclusive', async (variable) => {
  const { found, run, code } = await caught(async (surroundings) => {
    await emulated(surroundings)
    const response = await post(surroundings, variable)
    const { status, headers } = response
    return {
      status,
      retry: headers.get('x-should-retry'),
      aws: headers.get('x-amzn-errortype'),
      body: await response.json(),
    }
  })
  expect(found).toEqual({
    status: 404,
    retry: 'false',
    aws: variable.startsWith('AWS') ? 'UnknownOperationException' : null,
    body: BODIES[variable](MESSAGE(variable)),
  })
  const { path } = CALLS[variable]
  const api = NOT_EMULATED_APIS.find((one) => one.variable === variable)?.name ?? ''
  expect(run).toMatchObject({
    ok: false,
    not_emulated: [{ api, variable, method: 'POST', path, count: 1 }],
  })
  expect(run.verdict).toBe('inconclusive')
  expect(run.inconclusive).toContain(`1 call to ${api} was not tested, because it is not emulated`)
  expect(code).toBe(3)
  expect(JSON.stringify(runAsJson(run))).not.toContain('secret-1')
  const report = plainLines(runLines(run)).join('\n')
  expect(report).toContain(`${api} (${variable}): 1 call, POST ${path}`)
  expect(report).toContain("only calls to OpenAI's API (/v1) and Anthropic's API (/v1/messages) are covered")
  expect(report).toContain(`1 call to ${api} was not tested`)
})

test('exec and APIs that are not emulated: a run that nothing else makes inconclusive is so because of one such call, and none without it', async () => {
  const under = async (look: (surroundings: Surroundings) => Promise<unknown>) => {
    const careful = client('shipped', 'careful', 'openai/gpt-4o', 'anthropic/claude-sonnet-4', '0')
    const program: Program = async (surroundings) => {
      await careful(surroundings)
      await look(surroundings)
    }
    return await play(program, 'rate-limit-burst')
  }
  const without = await under(async () => undefined)
  expect({ verdict: without.run.verdict, listed: without.run.not_emulated }).toEqual({ verdict: 'pass', listed: [] })
  expect(plainLines(runLines(without.run)).join('\n')).not.toContain('not emulated')
  const { run, code } = await under((surroundings) => post(surroundings, 'OLLAMA_HOST'))
  expect({ verdict: run.verdict, inconclusive: run.inconclusive, code }).toEqual({
    verdict: 'inconclusive',
    inconclusive: ['1 call to the Ollama API was not tested, because it is not emulated'],
    code: 3,
  })
})

test('exec and APIs that are not emulated: a command that fails still fails', async () => {
  const { run, code } = await play(async (surroundings) => {
    await post(surroundings, 'OLLAMA_HOST')
    return 2
  })
  expect({ verdict: run.verdict, code }).toEqual({ verdict: 'fail', code: 2 })
})

test('exec and APIs that are not emulated: the page of a run shows its sessions as inconclusive', async () => {
  const shown: { verdict: string; inconclusive: readonly string[] }[] = []
  const report: RunReport = {
    async add(_run, _sessions, verdicts) {
      shown.push(...verdicts.map(({ verdict, inconclusive }) => ({ verdict, inconclusive })))
    },
    async write() {},
  }
  await caught(
    async (surroundings) => {
      await emulated(surroundings)
      await post(surroundings, 'OLLAMA_HOST')
    },
    { report },
  )
  const reason = '1 call to the Ollama API was not tested, because it is not emulated'
  expect(shown).toEqual([{ verdict: 'inconclusive', inconclusive: [reason] }])
})

test('exec and APIs that are not emulated: counts equal calls as one line, and calls of several APIs apart', async () => {
  const { run } = await caught(async (surroundings) => {
    for (const variable of ['OLLAMA_HOST', 'OLLAMA_HOST', 'GOOGLE_GEMINI_BASE_URL'] as const)
      await post(surroundings, variable)
  })
  expect(run.not_emulated.map(({ variable, count }) => ({ variable, count }))).toEqual([
    { variable: 'OLLAMA_HOST', count: 2 },
    { variable: 'GOOGLE_GEMINI_BASE_URL', count: 1 },
  ])
  expect(run.inconclusive).toContain('2 calls to the Ollama API were not tested, because it is not emulated')
})

test('exec and APIs that are not emulated: lists no more than 50 paths', async () => {
  const { run } = await caught(async ({ env, fetch }) => {
    for (let number = 0; number < 60; number++)
      await fetch(`${env.OLLAMA_HOST}/api/blobs/${number}`, { method: 'HEAD' })
  })
  expect(run.not_emulated).toHaveLength(50)
})

test('--leave-env: names one of the variables, or is an error', () => {
  expect(leftVariables(['OLLAMA_HOST', 'AZURE_OPENAI_ENDPOINT'])).toEqual(['OLLAMA_HOST', 'AZURE_OPENAI_ENDPOINT'])
  expect(() => leftVariables(['OLLAMA'])).toThrow('--leave-env must be one of GOOGLE_GEMINI_BASE_URL, ')
})

const environmentOf = async (env: Record<string, string>, leaveEnv: string[] = []) => {
  const { found } = await caught(
    async (surroundings) => Object.fromEntries(variables.map((name) => [name, surroundings.env[name]])),
    { leaveEnv, io: { ...testIo(), env } },
  )
  return found
}

test('exec and APIs that are not emulated: leaves variables that are set, or to be left, and those of an address that is set otherwise', async () => {
  const all = await environmentOf({})
  for (const address of Object.values(all))
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/_understudy\/not-emulated\/[a-z-]+$/)
  expect(await environmentOf({ OLLAMA_HOST: 'http://gpu:11434', GOOGLE_GEMINI_BASE_URL: '' })).toMatchObject({
    OLLAMA_HOST: 'http://gpu:11434',
    GOOGLE_GEMINI_BASE_URL: expect.stringContaining('/gemini'),
  })
  const left = await environmentOf({ AWS_ENDPOINT_URL: 'http://localstack:4566' }, ['OLLAMA_HOST'])
  expect(left.OLLAMA_HOST).toBeUndefined()
  expect(left.AWS_ENDPOINT_URL_BEDROCK_RUNTIME).toBeUndefined()
  expect(left.AZURE_OPENAI_ENDPOINT).toContain('/azure-openai')
})

/** Counts the requests of a client. */
const counting = ({ fetch }: Surroundings) => {
  const sent: string[] = []
  const send = (input: string | URL | Request, init?: RequestInit) => {
    sent.push(new URL(input instanceof Request ? input.url : input).pathname)
    return fetch(input, init)
  }
  return { sent, fetch: Object.assign(send, { preconnect: fetch.preconnect }) }
}

test("openai's AzureOpenAI: throws the error by name and does not repeat the call", async () => {
  const { found, run } = await caught(async (surroundings) => {
    const { sent, fetch } = counting(surroundings)
    const azure = new AzureOpenAI({
      endpoint: surroundings.env.AZURE_OPENAI_ENDPOINT ?? '',
      baseURL: null,
      apiKey: 'any',
      apiVersion: '2026-04-01',
      fetch,
    })
    const error = await azure.chat.completions
      .create({ model: 'my-gpt', messages: [{ role: 'user', content: 'hi' }] })
      .catch((reason: unknown) => reason)
    return { error, sent }
  })
  expect(found.error).toBeInstanceOf(NotFoundError)
  expect((found.error as NotFoundError).message).toContain('Understudy does not emulate the Azure OpenAI API')
  expect((found.error as NotFoundError).code).toBe('not_emulated')
  expect(found.sent).toHaveLength(1)
  expect(run.not_emulated).toMatchObject([{ path: '/openai/deployments/my-gpt/chat/completions', count: 1 }])
})

test("openai's AzureOpenAI without an endpoint: is refused by name though it calls OPENAI_BASE_URL", async () => {
  const { found, run, code } = await caught(async (surroundings) => {
    const azure = new AzureOpenAI({
      baseURL: surroundings.env.OPENAI_BASE_URL ?? '',
      apiKey: 'any',
      apiVersion: '2026-04-01',
      fetch: surroundings.fetch,
    })
    return await azure.chat.completions
      .create({ model: 'my-gpt', messages: [{ role: 'user', content: 'hi' }] })
      .catch((reason: unknown) => reason)
  })
  expect((found as NotFoundError).message).toContain('does not emulate the Azure OpenAI API')
  expect((found as NotFoundError).message).toContain('The client took its address from OPENAI_BASE_URL')
  expect(run.not_emulated).toMatchObject([
    { variable: 'OPENAI_BASE_URL', path: '/deployments/my-gpt/chat/completions' },
  ])
  expect({ verdict: run.verdict, code }).toEqual({ verdict: 'inconclusive', code: 3 })
})

test('exec and APIs that are not emulated: a client that speaks HTTP/2 without TLS, as the one of Amazon Bedrock does, is refused by name', async () => {
  const { found, run } = await caught(async ({ env }) => {
    const { origin, pathname } = new URL(env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME ?? '')
    const session = connect(origin)
    const stream = session.request({
      ':method': 'POST',
      ':path': `${pathname}/model/some/converse?x=1`,
      'content-type': 'application/json',
    })
    try {
      stream.end('{}')
      const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
      const parts: Buffer[] = []
      for await (const part of stream) parts.push(part as Buffer)
      return { headers, body: JSON.parse(Buffer.concat(parts).toString()) as { message: string } }
    } finally {
      session.close()
    }
  })
  expect(found.headers).toMatchObject({ ':status': 404, 'x-amzn-errortype': 'UnknownOperationException' })
  expect(found.body.message).toContain('Understudy does not emulate the Amazon Bedrock Runtime API')
  expect(run.not_emulated).toMatchObject([{ method: 'POST', path: '/model/some/converse', count: 1 }])
})

test('@ai-sdk/google: throws the error by name and does not repeat the call', async () => {
  const { found, run } = await caught(async (surroundings) => {
    const { sent, fetch } = counting(surroundings)
    const google = createGoogleGenerativeAI({
      baseURL: `${surroundings.env.GOOGLE_GEMINI_BASE_URL}/v1beta`,
      apiKey: 'any',
      fetch,
    })
    const error = await generateText({ model: google('gemini-3-pro'), prompt: 'hi' }).catch((reason: unknown) => reason)
    return { error, sent }
  })
  expect(found.error).toMatchObject({ statusCode: 404, isRetryable: false })
  expect((found.error as Error).message).toContain('Understudy does not emulate the Gemini API')
  expect(found.sent).toHaveLength(1)
  expect(run.not_emulated).toMatchObject([{ path: '/v1beta/models/gemini-3-pro:generateContent', count: 1 }])
})
