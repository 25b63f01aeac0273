// The APIs of models that are not emulated: where their clients are led by exec, and an error that names the API in a form that its
// client library reads. Status 404, since every one of these libraries repeats 5xx or leaves it to its caller, and none repeats this.

/** An API of models that is not emulated. */
export interface NotEmulatedApi {
  /** As it stands in the address. */
  id: string
  /** What messages call it. */
  name: string
  /** The environment variable by which its client library is given another address. */
  variable: string
  /** Other variables that mean that somebody has chosen an address. */
  alternatives: readonly string[]
  /** Its client for Node.js speaks HTTP/2 unless told otherwise. */
  http2?: true
  /** What the paths of its calls look like, without our address. */
  path: RegExp
  /** The headers and the body of its errors. */
  error(message: string): { headers: Readonly<Record<string, string>>; body: object }
}

/** All of them. */
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

/** Below the control API, so that it takes the place of no path of a compatible API. */
const PREFIX = '/_understudy/not-emulated/'
const ADDRESS = new RegExp(`^${PREFIX}([^/]+)(/.*)?$`)

/** The address that the client library of an API is given. */
export const addressFor = (url: string, { id }: Pick<NotEmulatedApi, 'id'>): string => `${url}${PREFIX}${id}`

/**
 * The APIs whose clients nobody has given an address. A variable is set when it is not empty, as in a shell.
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

/** The client for Azure of the package `openai` takes OPENAI_BASE_URL before any address of its own. */
const AZURE_BELOW_OPENAI = /^(?:\/s\/[^/]+)?\/v1(\/deployments\/[^/]+\/.+)$/
/** What every path of {@link notEmulatedApiAt} has. */
const SIGNS = /\/not-emulated\/|\/v1\/deployments\//

/** A call of an API that is not emulated: which one, the path that its client meant, and the variable that led it here. */
interface NotEmulatedCall {
  api: NotEmulatedApi
  path: string
  variable: string
}

/** The call of an API that an address is; undefined for any other address. */
export function notEmulatedApiAt(url: string): NotEmulatedCall | undefined {
  // Nearly every call.
  if (!SIGNS.test(url)) return undefined
  const pathname = URL.parse(url)?.pathname ?? ''
  const below = AZURE_BELOW_OPENAI.exec(pathname)?.[1]
  const [, id, path = '/'] = below === undefined ? (ADDRESS.exec(pathname) ?? []) : [below, 'azure-openai', below]
  const api = NOT_EMULATED_APIS.find((one) => one.id === id)
  return api && { api, path, variable: below === undefined ? api.variable : 'OPENAI_BASE_URL' }
}

/** The API whose calls look like a path that there is not. */
export const apiOfPath = (pathname: string): NotEmulatedApi | undefined =>
  NOT_EMULATED_APIS.find(({ path }) => path.test(pathname))

/** What is emulated, in words. */
export const EMULATED_APIS = "OpenAI's API (/v1) and Anthropic's API (/v1/messages)"

/** Refuses a call of an API, in its own form. */
export function notEmulatedResponse({ api, path, variable }: NotEmulatedCall, method: string): Response {
  const way =
    variable === api.variable
      ? `To reach another server, set ${variable} before understudy exec; to leave it unset, use --leave-env ${variable}.`
      : `The client took its address from ${variable}: in code, give it another one.`
  const message = `Understudy does not emulate ${api.name} (${method} ${path}). It emulates ${EMULATED_APIS}. ${way}`
  const { headers, body } = api.error(message)
  return new Response(method === 'HEAD' ? null : JSON.stringify(body), {
    status: 404,
    headers: { 'content-type': 'application/json', 'x-should-retry': 'false', ...headers },
  })
}
