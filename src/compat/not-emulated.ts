// Model APIs that are not emulated. `exec` leads their clients to an address with an error that names the API, in the format of its
// client library. The status is 404, because none of these libraries retries it, while some retry 5xx.

/** A model API that is not emulated. */
interface NotEmulatedApi {
  /** Its id in the address. */
  id: string
  /** Its name in messages. */
  name: string
  /** The environment variable with the base address for its client library. */
  variable: string
  /** Other variables that set an address. */
  alternatives: readonly string[]
  /** Set when its client for Node.js uses HTTP/2 by default. */
  http2?: true
  /** Matches the paths of its calls, without the base address. */
  path: RegExp
  /** Headers and body of an error in its format. */
  error(message: string): { headers: Readonly<Record<string, string>>; body: object }
}

/** All model APIs that are recognized and not emulated. */
export const NOT_EMULATED_APIS: readonly NotEmulatedApi[] = [
  {
    id: 'gemini',
    name: 'the Gemini API',
    variable: 'GOOGLE_GEMINI_BASE_URL',
    alternatives: [],
    path: /^\/v1(?:alpha|beta\d?)\/|^\/v1\/(?:models|tunedModels)\/[^/]+:\w+$/,
    // A google.rpc.Status.
    error: (message) => ({ headers: {}, body: { error: { code: 404, message, status: 'NOT_FOUND' } } }),
  },
  {
    id: 'azure-openai',
    name: 'the Azure OpenAI API',
    variable: 'AZURE_OPENAI_ENDPOINT',
    alternatives: ['AZURE_OPENAI_BASE_URL'],
    path: /^(?:\/v1)?(?:\/openai)?\/deployments\/[^/]+\/|^\/openai\/(?:deployments|responses)\b/,
    error: (message) => ({
      headers: {},
      body: { error: { message, type: 'invalid_request_error', param: null, code: 'not_emulated' } },
    }),
  },
  {
    id: 'bedrock',
    name: 'the Amazon Bedrock Runtime API',
    variable: 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME',
    alternatives: ['AWS_ENDPOINT_URL'],
    http2: true,
    path: /^\/model\/[^/]+\/(?:converse|converse-stream|invoke|invoke-with-response-stream|invoke-with-bidirectional-stream|count-tokens)$/,
    error: (message) => ({ headers: { 'x-amzn-errortype': 'UnknownOperationException' }, body: { message } }),
  },
  {
    id: 'ollama',
    name: 'the Ollama API',
    variable: 'OLLAMA_HOST',
    alternatives: [],
    path: /^\/api\/(?:chat|generate|embed|embeddings|tags|show|pull|push|create|copy|delete|ps|version|blobs\/.+)$/,
    error: (message) => ({ headers: {}, body: { error: message } }),
  },
]

/** Inside the control API, so that it cannot collide with a path of a compatible API. */
const PREFIX = '/_understudy/not-emulated/'
const ADDRESS = new RegExp(`^${PREFIX}([^/]+)(/.*)?$`)

/** The base address for the client library of an API. */
export const addressFor = (url: string, { id }: Pick<NotEmulatedApi, 'id'>): string => `${url}${PREFIX}${id}`

/**
 * The APIs without a configured address. An empty variable counts as unset.
 * @param leave variables to leave as they are
 */
export const unaddressed = (
  environment: Readonly<Record<string, string | undefined>>,
  leave: readonly string[],
): readonly NotEmulatedApi[] =>
  NOT_EMULATED_APIS.filter(
    ({ variable, alternatives }) =>
      !leave.includes(variable) && [variable, ...alternatives].every((name) => !environment[name]),
  )

/** For the Azure client of the package `openai`, OPENAI_BASE_URL overrides its own address. */
const AZURE_BELOW_OPENAI = /^(?:\/s\/[^/]+)?\/v1(\/deployments\/[^/]+\/.+)$/
/** Contained in every path of {@link notEmulatedApiAt}. */
const MARKERS = /\/not-emulated\/|\/v1\/deployments\//

/** A call of an API that is not emulated, with the intended path and the variable that contained the address. */
interface NotEmulatedCall {
  api: NotEmulatedApi
  path: string
  variable: string
}

/** The call of an API that is not emulated; undefined for any other address. */
export function notEmulatedApiAt(url: string): NotEmulatedCall | undefined {
  // The fast path of nearly every call.
  if (!MARKERS.test(url)) return undefined
  const pathname = URL.parse(url)?.pathname ?? ''
  const azurePath = AZURE_BELOW_OPENAI.exec(pathname)?.[1]
  const [, id, path = '/'] =
    azurePath === undefined ? (ADDRESS.exec(pathname) ?? []) : [azurePath, 'azure-openai', azurePath]
  const api = NOT_EMULATED_APIS.find((one) => one.id === id)
  return api && { api, path, variable: azurePath === undefined ? api.variable : 'OPENAI_BASE_URL' }
}

/** The API whose calls have such a path; for paths that do not exist here. */
export const apiOfPath = (pathname: string): NotEmulatedApi | undefined =>
  NOT_EMULATED_APIS.find(({ path }) => path.test(pathname))

/** Names the emulated APIs in messages. */
export const EMULATED_APIS = "OpenAI's API (/v1) and Anthropic's API (/v1/messages)"

/** An error response in the format of the called API. */
export function notEmulatedResponse({ api, path, variable }: NotEmulatedCall, method: string): Response {
  const advice =
    variable === api.variable
      ? `To reach another server, set ${variable} before understudy exec; to leave it unset, use --leave-env ${variable}.`
      : `The client took its address from ${variable}: in code, give it another one.`
  const message = `Understudy does not emulate ${api.name} (${method} ${path}). It emulates ${EMULATED_APIS}. ${advice}`
  const { headers, body } = api.error(message)
  return new Response(method === 'HEAD' ? null : JSON.stringify(body), {
    status: 404,
    headers: { 'content-type': 'application/json', 'x-should-retry': 'false', ...headers },
  })
}
