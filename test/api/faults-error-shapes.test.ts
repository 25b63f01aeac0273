// Errors as each provider sends them: bytes, status and headers, received at the gateway in the provider's own shape.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { playing } from '../support/scenario.ts'

const app = createTestApp()
afterAll(app.close)

const MODELS: Record<string, string> = {
  openai: 'openai/gpt-4o',
  groq: 'groq/llama-3.3-70b-versatile',
  azure: 'azure/gpt-4o',
  anthropic: 'anthropic/claude-sonnet-4',
  google: 'google/gemini-2.5-pro',
  aws: 'aws/claude',
  mistral: 'mistral/mistral-large',
  cohere: 'cohere/command-r',
}
const text = expect.any(String)
const openai = (type: string, code: string | null, param: string | null = null) => ({
  error: { message: text, type, param, code },
})
const azure = (code: string, more: object = {}) => ({ error: { code, message: text, ...more } })
const anthropic = (type: string) => ({
  type: 'error',
  error: { type, message: text },
  request_id: expect.stringMatching(/^req_[0-9a-f]{24}$/),
})
const google = (code: number, status: string, more: object = {}) => ({
  error: { code, message: text, status, ...more },
})
const aws = { message: text }
const mistral = (status: number, type: string, code: string | null) => ({
  object: 'error',
  message: text,
  type,
  param: null,
  code,
  raw_status_code: status,
})
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/
const cohere = { id: expect.stringMatching(UUID), message: text }
const amazon = (name: string) => ({ 'x-amzn-errortype': name, 'x-amzn-requestid': expect.stringMatching(UUID) })
const info = (name: string, more: object) => ({ '@type': `type.googleapis.com/google.rpc.${name}`, ...more })

const OVERLOADED = { type: 'http-error', status: 'overloaded' }

type Row = [provider: string, fault: object, status: number, body: object, headers?: object]
const ROWS: Row[] = [
  ['openai', { type: 'http-error', status: 400 }, 400, openai('invalid_request_error', null)],
  ['openai', { type: 'http-error', status: 500 }, 500, openai('server_error', null)],
  ['openai', { type: 'http-error', status: 429 }, 429, openai('requests', 'rate_limit_exceeded')],
  ['openai', { type: 'rate-limit', requests: 0 }, 429, openai('requests', 'rate_limit_exceeded')],
  ['openai', { type: 'rate-limit', tokens: 0 }, 429, openai('tokens', 'rate_limit_exceeded')],
  ['openai', { type: 'auth-failure' }, 401, openai('invalid_request_error', 'invalid_api_key')],
  ['openai', { type: 'context-length' }, 400, openai('invalid_request_error', 'context_length_exceeded', 'messages')],
  ['openai', { type: 'content-filter', as: 'error' }, 400, openai('invalid_request_error', 'content_policy_violation')],
  ['openai', { type: 'quota-exceeded' }, 429, openai('insufficient_quota', 'insufficient_quota')],
  ['openai', { type: 'model-not-found' }, 404, openai('invalid_request_error', 'model_not_found')],
  ['openai', OVERLOADED, 503, openai('service_unavailable_error', 'server_is_overloaded')],
  [
    'groq',
    { type: 'http-error', status: 503 },
    503,
    openai('server_error', null),
    { 'x-request-id': expect.stringMatching(/^req_[0-9a-f]{24}$/) },
  ],
  ['azure', { type: 'http-error', status: 500 }, 500, azure('InternalServerError')],
  ['azure', { type: 'http-error', status: 403 }, 403, azure('AuthorizationFailed')],
  ['azure', { type: 'rate-limit', requests: 0 }, 429, azure('429'), { 'retry-after': '60' }],
  ['azure', { type: 'auth-failure' }, 401, azure('401'), { 'apim-request-id': text, 'x-ms-region': 'East US' }],
  ['azure', { type: 'context-length' }, 400, openai('invalid_request_error', 'context_length_exceeded', 'messages')],
  [
    'azure',
    { type: 'content-filter', as: 'error' },
    400,
    azure('content_filter', {
      type: null,
      param: 'prompt',
      status: 400,
      innererror: {
        code: 'ResponsibleAIPolicyViolation',
        content_filter_result: expect.objectContaining({ violence: { filtered: true, severity: 'medium' } }),
      },
    }),
  ],
  ['azure', { type: 'quota-exceeded' }, 403, azure('403')],
  ['azure', { type: 'model-not-found' }, 404, azure('DeploymentNotFound')],
  ['azure', OVERLOADED, 503, azure('ServiceUnavailable')],
  ['anthropic', { type: 'http-error', status: 529 }, 529, anthropic('overloaded_error')],
  ['anthropic', { type: 'http-error', status: 503 }, 503, anthropic('api_error')],
  ['anthropic', { type: 'http-error', status: 413 }, 413, anthropic('request_too_large')],
  ['anthropic', { type: 'rate-limit', tokens: 0 }, 429, anthropic('rate_limit_error')],
  [
    'anthropic',
    { type: 'auth-failure' },
    401,
    anthropic('authentication_error'),
    { 'request-id': expect.stringMatching(/^req_/) },
  ],
  ['anthropic', { type: 'context-length' }, 400, anthropic('invalid_request_error')],
  ['anthropic', { type: 'content-filter', as: 'error' }, 400, anthropic('invalid_request_error')],
  ['anthropic', { type: 'quota-exceeded' }, 400, anthropic('invalid_request_error')],
  ['anthropic', { type: 'model-not-found' }, 404, anthropic('not_found_error')],
  ['anthropic', OVERLOADED, 529, anthropic('overloaded_error')],
  ['google', { type: 'http-error', status: 503 }, 503, google(503, 'UNAVAILABLE')],
  [
    'google',
    { type: 'http-error', status: 429, retry_after: '34s' },
    429,
    google(429, 'RESOURCE_EXHAUSTED', { details: [info('RetryInfo', { retryDelay: '34s' })] }),
    { 'retry-after': '34' },
  ],
  [
    'google',
    { type: 'rate-limit', requests: 0 },
    429,
    google(429, 'RESOURCE_EXHAUSTED', {
      details: [
        info('QuotaFailure', {
          violations: [
            {
              quotaMetric: 'generativelanguage.googleapis.com/generate_content_requests',
              quotaDimensions: { location: 'global', model: 'gemini-2.5-pro' },
              quotaValue: '0',
            },
          ],
        }),
        info('RetryInfo', { retryDelay: '60s' }),
      ],
    }),
    { 'retry-after': null },
  ],
  [
    'google',
    { type: 'auth-failure' },
    400,
    google(400, 'INVALID_ARGUMENT', {
      details: [info('ErrorInfo', { reason: 'API_KEY_INVALID', domain: 'googleapis.com' })],
    }),
  ],
  ['google', { type: 'context-length' }, 400, google(400, 'INVALID_ARGUMENT')],
  ['google', { type: 'content-filter', as: 'error' }, 400, google(400, 'INVALID_ARGUMENT')],
  ['google', { type: 'quota-exceeded' }, 429, google(429, 'RESOURCE_EXHAUSTED')],
  ['google', { type: 'model-not-found' }, 404, google(404, 'NOT_FOUND')],
  ['google', OVERLOADED, 503, google(503, 'UNAVAILABLE')],
  ['aws', { type: 'http-error', status: 503 }, 503, aws, amazon('ServiceUnavailableException')],
  ['aws', { type: 'http-error', status: 424 }, 424, aws, amazon('ModelErrorException')],
  ['aws', { type: 'rate-limit', requests: 0 }, 429, aws, { ...amazon('ThrottlingException'), 'retry-after': null }],
  ['aws', { type: 'auth-failure' }, 403, aws, amazon('UnrecognizedClientException')],
  ['aws', { type: 'context-length' }, 400, aws, amazon('ValidationException')],
  ['aws', { type: 'content-filter', as: 'error' }, 400, aws, amazon('ValidationException')],
  ['aws', { type: 'quota-exceeded' }, 400, aws, amazon('ServiceQuotaExceededException')],
  ['aws', { type: 'model-not-found' }, 404, aws, amazon('ResourceNotFoundException')],
  ['aws', OVERLOADED, 503, aws, amazon('ServiceUnavailableException')],
  ['mistral', { type: 'http-error', status: 500 }, 500, mistral(500, 'internal_server_error', '1000')],
  ['mistral', { type: 'rate-limit', requests: 0 }, 429, mistral(429, 'rate_limited', '1300'), { 'retry-after': '60' }],
  ['mistral', { type: 'auth-failure' }, 401, { detail: 'Unauthorized' }],
  ['mistral', { type: 'context-length' }, 400, mistral(400, 'invalid_request_prompt', '3051')],
  ['mistral', { type: 'content-filter', as: 'error' }, 403, mistral(403, 'guardrail_violation', null)],
  ['mistral', { type: 'quota-exceeded' }, 429, mistral(429, 'service_tier_capacity_exceeded', '3505')],
  ['mistral', { type: 'model-not-found' }, 400, mistral(400, 'invalid_model', '1500')],
  ['mistral', OVERLOADED, 503, mistral(503, 'internal_server_error', '1000')],
  ['cohere', { type: 'http-error', status: 500 }, 500, cohere, { 'x-debug-trace-id': text }],
  ['cohere', { type: 'rate-limit', requests: 0 }, 429, cohere, { 'x-trial-endpoint-call-remaining': '0' }],
  ['cohere', { type: 'auth-failure' }, 401, cohere],
  ['cohere', { type: 'context-length' }, 400, cohere],
  ['cohere', { type: 'content-filter', as: 'error' }, 498, cohere],
  ['cohere', { type: 'quota-exceeded' }, 402, cohere],
  ['cohere', { type: 'model-not-found' }, 404, cohere],
  ['cohere', OVERLOADED, 503, cohere],
]

describe.each([false, true])('error shape with stream: %p', (stream) => {
  test.each(ROWS)(
    "of %s for %j is a %i in the provider's own form",
    async (provider, fault, status, body, headers = {}) => {
      const { chat } = await playing(app, [{ at: 'gateway', fault: { shape: 'provider', ...fault } }])
      const answer = await chat({ model: MODELS[provider], stream })
      expect(answer.status).toBe(status)
      expect(answer.headers.get('content-type')).toBe('application/json')
      expect(answer.json()).toEqual(body as never)
      const sent = Object.fromEntries(Object.keys(headers).map((name) => [name, answer.headers.get(name)]))
      expect(sent).toEqual(headers as never)
      expect(await app.traceOf(answer)).toMatchObject({
        outcome: 'http_error',
        status,
        faults: ['rule 1'],
        attempts: [],
      })
    },
  )
})

test.each<[fault: object, status: number, code: string]>([
  [{ type: 'http-error', status: 503 }, 503, 'server_error'],
  [{ type: 'http-error', status: 429 }, 429, 'rate_limit_exceeded'],
  [{ type: 'rate-limit', requests: 0 }, 429, 'rate_limit_exceeded'],
  [{ type: 'auth-failure' }, 401, 'invalid_api_key'],
  [{ type: 'context-length' }, 400, 'context_length_exceeded'],
  [{ type: 'content-filter', as: 'error' }, 400, 'content_policy_violation'],
  [{ type: 'quota-exceeded' }, 429, 'insufficient_quota'],
  [{ type: 'model-not-found' }, 404, 'model_not_found'],
  [OVERLOADED, 503, 'server_is_overloaded'],
])("gateway fault %j: has the gateway's own error envelope", async (fault, status, code) => {
  const { chat } = await playing(app, [{ at: 'gateway', fault }])
  const answer = await chat({ model: MODELS.anthropic })
  expect(answer.status).toBe(status)
  expect(errorOf(answer.text, status).code).toBe(code)
  expect(answer.headers.get('x-understudy-faults')).toBe('rule 1')
  expect(answer.headers.get('x-understudy-scenario')).toBe('bad-day')
})

describe('custom error of a fault', () => {
  const at = (fault: object, clock?: string) =>
    playing(app, [{ at: 'gateway', fault: { type: 'http-error', status: 502, ...fault } }], clock ? { clock } : {})

  test('has its message and headers, whatever the case of their names', async () => {
    const { chat } = await at({ message: 'out to lunch', headers: { 'X-Should-Retry': 'false' } })
    const answer = await chat()
    expect(errorOf(answer.text, 502).message).toBe('out to lunch')
    expect(answer.headers.get('x-should-retry')).toBe('false')
  })

  test.each<[body: unknown, headers: object, type: string, text: string]>([
    ['<html>Bad gateway</html>', {}, 'text/html', '<html>Bad gateway</html>'],
    ['upstream connect error', {}, 'text/plain', 'upstream connect error'],
    ['', {}, 'text/plain', ''],
    [{ oops: [1] }, {}, 'application/json', '{"oops":[1]}'],
    [{ title: 'x' }, { 'Content-Type': 'application/problem+json' }, 'application/problem+json', '{"title":"x"}'],
  ])('has the body %j', async (body, headers, type, text) => {
    const { chat } = await at({ body, headers })
    const answer = await chat()
    expect([answer.status, answer.headers.get('content-type'), answer.text]).toEqual([502, type, text])
  })

  test.each<[form: string | undefined, name: string, value: string]>([
    [undefined, 'retry-after', '3'],
    ['seconds', 'retry-after', '3'],
    ['date', 'retry-after', 'Wed, 01 Jan 2025 00:00:03 GMT'],
    ['ms', 'retry-after-ms', '2500'],
  ])('has its retry time in the form %s', async (form, name, value) => {
    const { chat } = await at({ retry_after: '2500ms', ...(form && { retry_after_form: form }) })
    const { headers } = await chat()
    const names = ['retry-after', 'retry-after-ms'].filter((one) => headers.has(one))
    expect([names, headers.get(name)]).toEqual([[name], value])
  })
})
