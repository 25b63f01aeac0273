// Azure OpenAI: deployments instead of models, and errors of its own gateway or of OpenAI.
import { defineProvider } from './define.ts'
import { errorFormat, seconds } from './error-messages.ts'
import { modelPath } from './model-path.ts'
import { openaiError } from './openai-family.ts'

const API_VERSION = '2024-10-21'

/** The URL of an operation. The path contains the model's deployment, unless the base URL is that of the newer API (`/v1`). */
function address(
  baseUrl: string,
  { operation, path, model }: { operation: string; path: string; model: string },
): string {
  const url = new URL(baseUrl)
  const base = url.pathname.replace(/\/$/, '')
  if (base.endsWith('/v1')) url.pathname = base + path
  else if (operation === 'responses') url.pathname = `${base}/openai/v1${path}`
  else {
    url.pathname = `${base}/openai/deployments/${modelPath(model).replaceAll('/', '%2F')}${path}`
    if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', API_VERSION)
  }
  return url.href
}

const azureError = errorFormat((refusal) => {
  const { problem, retryAfter, unit, id } = refusal
  const rate = unit === 'tokens' ? 'token' : 'call'
  const fromOpenai = openaiError(refusal)
  const { message: openaiMessage } = fromOpenai.body.error as { message: string }
  return {
    words: {
      'rate-limit': [429, `Requests have exceeded the ${rate} rate limit. Retry after ${seconds(retryAfter)}.`],
      'auth-failure': [401, 'Access denied due to invalid subscription key or wrong API endpoint.'],
      'context-length': [400, openaiMessage, 'context_length_exceeded'],
      'content-filter': [400, 'The prompt was filtered by the content management policy.', 'content_filter'],
      'quota-exceeded': [403, 'Out of call volume quota: it will be replenished later.', '403'],
      'model-not-found': [404, 'The API deployment for this resource does not exist.', 'DeploymentNotFound'],
      overloaded: [503, 'The service is at capacity, please try again later.'],
    },
    names: {
      400: 'BadRequest',
      401: '401',
      403: 'AuthorizationFailed',
      404: '404',
      408: 'Timeout',
      429: '429',
      500: 'InternalServerError',
      503: 'ServiceUnavailable',
    },
    shape: (status, message, code) => {
      const more = problem === 'content-filter' && { param: 'prompt', type: null, status, innererror: AZURE_FILTER }
      const body = problem === 'context-length' ? fromOpenai.body : { error: { code, message, ...more } }
      return { status, headers: { 'apim-request-id': id, 'x-ms-region': 'East US' }, body }
    },
  }
})
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

/** The provider Azure OpenAI: its models, endpoint and errors. */
export const azureProvider = defineProvider({
  name: 'azure',
  endpoint: { keyVariable: 'AZURE_OPENAI_API_KEY', keyHeader: 'api-key', address },
  error: azureError,
  refusesUnsafe: true,
})
