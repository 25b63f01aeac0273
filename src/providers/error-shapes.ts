// What each provider answers when it refuses: status, headers and body in its own shape, one function a family. The shapes
// are those of the providers' error references; the sentences are our own, with the words that clients look for.
import { type ErrorShape, type ErrorVocabulary, type ProviderRefusal, seconds, tell, uuid } from './error-words.ts'

/** OpenAI and all that copy its errors. */
function openai(refused: ProviderRefusal): ErrorShape {
  const { problem, model, limit, asked, retryAfter, unit = 'requests', id } = refused
  const kept = unit === 'tokens' ? 'tokens per min (TPM)' : 'requests per min (RPM)'
  const counted = limit === undefined ? '' : `: limit ${limit}, requested ${asked}`
  const wait = retryAfter === undefined ? '' : ` Please try again in ${seconds(retryAfter)}.`
  const words: ErrorVocabulary = {
    'rate-limit': [429, 'rate_limit_exceeded', `Rate limit reached for ${model} on ${kept}${counted}.${wait}`],
    'auth-failure': [401, 'invalid_api_key', 'Incorrect API key provided.'],
    'context-length': [
      400,
      'context_length_exceeded',
      `This model's maximum context length is ${limit} tokens, but the input has ${asked} tokens. Please shorten it.`,
    ],
    'content-filter': [400, 'content_policy_violation', 'The request was rejected by the safety system.'],
    'quota-exceeded': [429, 'insufficient_quota', 'You exceeded your current quota: look at your plan and billing.'],
    'model-gone': [404, 'model_not_found', `The model \`${model}\` does not exist or you do not have access to it.`],
  }
  const names = { 400: '', 401: 'invalid_api_key', 404: 'not_found', 429: 'rate_limit_exceeded', 500: '' }
  const [status, code, message] = tell(refused, { words, names })
  const limited = problem === 'quota-exceeded' ? code : unit
  const type = status === 429 ? limited : status >= 500 ? 'server_error' : 'invalid_request_error'
  const param = problem === 'context-length' ? 'messages' : null
  return {
    status,
    headers: { 'x-request-id': `req_${id}` },
    body: { error: { message, type, param, code: code || null } },
  }
}

/** Azure's OpenAI service: the codes of its own gateway, and OpenAI's from the models behind it. */
function azure(refused: ProviderRefusal): ErrorShape {
  const { problem, retryAfter, unit = 'requests', id } = refused
  const rate = unit === 'tokens' ? 'token' : 'call'
  const behind = openai(refused)
  const { message: openaiMessage } = behind.body.error as { message: string }
  const words: ErrorVocabulary = {
    'rate-limit': [429, '429', `Requests have exceeded the ${rate} rate limit. Retry after ${seconds(retryAfter)}.`],
    'auth-failure': [401, '401', 'Access denied due to invalid subscription key or wrong API endpoint.'],
    'context-length': [400, 'context_length_exceeded', openaiMessage],
    'content-filter': [400, 'content_filter', 'The prompt was filtered by the content management policy.'],
    'quota-exceeded': [403, '403', 'Out of call volume quota: it will be replenished later.'],
    'model-gone': [404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.'],
  }
  const names = {
    400: 'BadRequest',
    401: '401',
    403: 'AuthorizationFailed',
    404: '404',
    408: 'Timeout',
    429: '429',
    500: 'InternalServerError',
    503: 'ServiceUnavailable',
  }
  const [status, code, message] = tell(refused, { words, names })
  const more = problem === 'content-filter' && { param: 'prompt', type: null, status, innererror: AZURE_FILTER }
  const body = problem === 'context-length' ? behind.body : { error: { code, message, ...more } }
  return { status, headers: { 'apim-request-id': id, 'x-ms-region': 'East US' }, body }
}
const harmless = { filtered: false, severity: 'safe' }
const AZURE_FILTER = {
  code: 'ResponsibleAIPolicyViolation',
  content_filter_result: {
    hate: harmless,
    self_harm: harmless,
    sexual: harmless,
    violence: { filtered: true, severity: 'medium' },
  },
}

function anthropic(refused: ProviderRefusal): ErrorShape {
  const { model, limit, asked, unit = 'requests', id } = refused
  const words: ErrorVocabulary = {
    'rate-limit': [429, 'rate_limit_error', `This request would exceed your rate limit of ${limit ?? 0} ${unit}.`],
    'auth-failure': [401, 'authentication_error', 'invalid x-api-key'],
    'context-length': [400, 'invalid_request_error', `prompt is too long: ${asked} tokens > ${limit} maximum`],
    'content-filter': [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
    'quota-exceeded': [400, 'invalid_request_error', 'Your credit balance is too low to access the API.'],
    'model-gone': [404, 'not_found_error', `model: ${model}`],
  }
  const names = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    402: 'billing_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    500: 'api_error',
    504: 'timeout_error',
    529: 'overloaded_error',
  }
  const [status, type, message] = tell(refused, { words, names })
  const request = `req_${id}`
  return {
    status,
    headers: { 'request-id': request },
    body: { type: 'error', error: { type, message }, request_id: request },
  }
}

/** Google's Gemini: a google.rpc.Status with its details. */
function google(refused: ProviderRefusal): ErrorShape {
  const { problem, model, limit, asked, retryAfter, unit = 'requests' } = refused
  const words: ErrorVocabulary = {
    'rate-limit': [429, 'RESOURCE_EXHAUSTED', `You exceeded your current quota of ${unit} per minute for ${model}.`],
    'auth-failure': [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
    'context-length': [
      400,
      'INVALID_ARGUMENT',
      `The input token count (${asked}) exceeds the maximum number of tokens allowed (${limit}).`,
    ],
    'content-filter': [400, 'INVALID_ARGUMENT', 'The prompt was blocked for reasons of safety.'],
    'quota-exceeded': [
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota: check your plan and billing details.',
    ],
    'model-gone': [404, 'NOT_FOUND', `models/${model} is not found for API version v1beta.`],
  }
  const names = {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    408: 'DEADLINE_EXCEEDED',
    429: 'RESOURCE_EXHAUSTED',
    499: 'CANCELLED',
    500: 'INTERNAL',
    503: 'UNAVAILABLE',
    504: 'DEADLINE_EXCEEDED',
  }
  const [code, status, message] = tell(refused, { words, names })
  const type = (name: string) => ({ '@type': `type.googleapis.com/google.rpc.${name}` })
  const violation = {
    quotaMetric: `generativelanguage.googleapis.com/generate_content_${unit === 'tokens' ? 'input_token_count' : 'requests'}`,
    quotaDimensions: { location: 'global', model },
    ...(limit !== undefined && { quotaValue: String(limit) }),
  }
  const details = [
    ...(problem === 'rate-limit' ? [{ ...type('QuotaFailure'), violations: [violation] }] : []),
    ...(problem === 'auth-failure'
      ? [{ ...type('ErrorInfo'), reason: 'API_KEY_INVALID', domain: 'googleapis.com' }]
      : []),
    ...(retryAfter === undefined ? [] : [{ ...type('RetryInfo'), retryDelay: seconds(retryAfter) }]),
  ]
  return {
    status: code,
    headers: {},
    body: { error: { code, message, status, ...(details.length > 0 && { details }) } },
  }
}

/** Amazon Bedrock: the name of the error stands in a header. */
function bedrock(refused: ProviderRefusal): ErrorShape {
  const { limit, asked, unit = 'requests', id } = refused
  const words: ErrorVocabulary = {
    'rate-limit': [429, 'ThrottlingException', `Too many ${unit}, please wait before trying again.`],
    'auth-failure': [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.'],
    'context-length': [400, 'ValidationException', `Input is too long: ${asked} tokens, the model takes ${limit}.`],
    'content-filter': [400, 'ValidationException', 'The request was blocked by the content filtering policy.'],
    'quota-exceeded': [400, 'ServiceQuotaExceededException', 'The request exceeds the service quota of your account.'],
    'model-gone': [404, 'ResourceNotFoundException', 'This model version has reached the end of its life.'],
  }
  const names = {
    400: 'ValidationException',
    403: 'AccessDeniedException',
    404: 'ResourceNotFoundException',
    408: 'ModelTimeoutException',
    424: 'ModelErrorException',
    429: 'ThrottlingException',
    500: 'InternalServerException',
    503: 'ServiceUnavailableException',
  }
  const [status, name, message] = tell(refused, { words, names })
  return { status, headers: { 'x-amzn-errortype': name, 'x-amzn-requestid': uuid(id) }, body: { message } }
}

function mistral(refused: ProviderRefusal): ErrorShape {
  const { problem, model, limit, asked, id } = refused
  const words: ErrorVocabulary = {
    'rate-limit': [429, 'rate_limited', 'Rate limit exceeded'],
    'auth-failure': [401, 'unauthorized', 'Unauthorized'],
    'context-length': [
      400,
      'invalid_request_prompt',
      `Prompt contains ${asked} tokens, too large for model with ${limit} maximum context length`,
    ],
    'content-filter': [403, 'guardrail_violation', 'The request was blocked by a content guardrail.'],
    'quota-exceeded': [429, 'service_tier_capacity_exceeded', 'Service tier capacity exceeded for this model.'],
    'model-gone': [400, 'invalid_model', `Invalid model: ${model}`],
  }
  const names = { 400: 'invalid_request_error', 401: 'unauthorized', 429: 'rate_limited', 500: 'internal_server_error' }
  const [status, type, message] = tell(refused, { words, names })
  const codes: Record<string, string> = {
    rate_limited: '1300',
    invalid_model: '1500',
    invalid_request_prompt: '3051',
    service_tier_capacity_exceeded: '3505',
    internal_server_error: '1000',
  }
  const body =
    problem === 'auth-failure'
      ? { detail: message }
      : { object: 'error', message, type, param: null, code: codes[type] ?? null, raw_status_code: status }
  return { status, headers: { 'mistral-correlation-id': uuid(id) }, body }
}

function cohere(refused: ProviderRefusal): ErrorShape {
  const { model, limit, asked, unit = 'requests', id } = refused
  const words: ErrorVocabulary = {
    'rate-limit': [429, '', `You are past the limit of ${limit ?? 0} ${unit} / minute of your key.`],
    'auth-failure': [401, '', 'invalid api token'],
    'context-length': [
      400,
      '',
      `too many tokens: the prompt cannot exceed ${limit} tokens, received ${asked}. Try a shorter prompt.`,
    ],
    'content-filter': [498, '', 'The request was blocked: it may be against the usage guidelines.'],
    'quota-exceeded': [402, '', 'You have reached the billing limit of your account.'],
    'model-gone': [404, '', `model '${model}' not found, make sure that you have access to it.`],
  }
  const [status, , message] = tell(refused, { words, names: {} })
  return { status, headers: { 'x-debug-trace-id': id }, body: { id: uuid(id), message } }
}

const FAMILIES: Readonly<Record<string, (refused: ProviderRefusal) => ErrorShape>> = {
  anthropic,
  aws: bedrock,
  azure,
  cohere,
  google,
  mistral,
}

/** How a provider tells a refusal; one that is not listed speaks like OpenAI. */
export const errorShape = (provider: string, refused: ProviderRefusal): ErrorShape =>
  (FAMILIES[provider] ?? openai)(refused)
