// The documentation of each error status, with an example that the server really returns.

interface ErrorKind {
  /** Its name in the document. */
  name: string
  description: string
  code: string
  message: string
  param?: string
  /** If it is not that of the status. */
  type?: string
}
/** By status. */
export const ERRORS: Record<number, ErrorKind> = {
  400: {
    name: 'BadRequest',
    description: 'A field, the JSON, or the session name is invalid. `param` names it.',
    code: 'invalid_value',
    message: "'temperature' must be at most 2, got 3",
    param: 'temperature',
  },
  401: {
    name: 'Unauthorized',
    description: 'The bearer token is missing or not allowed.',
    code: 'invalid_token',
    message: "send a token: 'Authorization: Bearer <token>' (any token works unless --token is set)",
  },
  403: {
    name: 'Forbidden',
    description:
      'The `Host` header is not allowed, or a page of an origin that `--cors` does not name sent a request that changes data.',
    code: 'origin_not_allowed',
    message:
      'a page of "http://example.com" must not change data here: only pages of this server and of origins listed in --cors can',
  },
  404: {
    name: 'NotFound',
    description: 'Not found.',
    code: 'not_found',
    message: 'not found: "example"',
  },
  408: {
    name: 'RequestTimeout',
    description: 'The request body did not arrive in time.',
    code: 'request_timeout',
    message: 'the body did not arrive in time (--client-timeout)',
  },
  409: {
    name: 'Conflict',
    description: 'The request conflicts with existing data, or the session was reset during the request.',
    code: 'key_taken',
    message: '\'key\' must be unique: there is a tool with key "example" already',
    param: 'key',
  },
  413: {
    name: 'ContentTooLarge',
    description: 'The body is larger than `--max-body`.',
    code: 'request_too_large',
    message: 'the body is larger than 33554432 bytes (--max-body)',
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The content type is not supported by this path.',
    code: 'unsupported_media_type',
    message: 'content-type "text/plain" is not supported; send application/json',
  },
  422: {
    name: 'Unprocessable',
    description: 'A guardrail blocked the request, or a form field is invalid. `param` names the field.',
    code: 'guardrail_violation',
    message: 'the input does not pass the guardrail "svc_pii_detection": it contains an e-mail address',
    param: 'guardrails[0]',
  },
  429: {
    name: 'TooManyRequests',
    description:
      'Too many sessions or waiting requests. For model calls, also a rate limit of the provider or the limit of `--max-calls`.',
    code: 'session_limit',
    message: 'there are 1000 sessions already; restart, or use one of them',
  },
  500: {
    name: 'ServerError',
    description: 'The provider failed. With `internal_error`, Understudy itself failed, which is a bug.',
    code: 'server_error',
    message: 'The server had an error while processing the request.',
  },
  502: {
    name: 'BadGateway',
    description: 'The provider could not be reached, closed the connection early, or sent an unreadable response.',
    code: 'provider_disconnected',
    message: 'the connection was reset before the response (ECONNRESET)',
  },
  503: {
    name: 'Unavailable',
    description:
      'The provider is overloaded or unavailable. With `draining`, Understudy is shutting down and creates no more sessions. `Retry-After` says when to retry.',
    code: 'server_error',
    message: 'The service is overloaded or not ready: try again later.',
  },
  504: {
    name: 'GatewayTimeout',
    description: 'No attempt finished within `timeout.call_timeout`.',
    code: 'timeout',
    message: 'openai/gpt-4o did not respond within the call_timeout of 1000 ms',
  },
}

/** All other responses of a provider, or of a scenario in its place. */
export const OTHER: ErrorKind = {
  name: 'OtherError',
  description:
    'Any other error status in the same envelope: from a provider or a rule of the scenario; 500 with `internal_error`, which is a bug in Understudy; 507 with `storage_failed` if data cannot be stored, for example because the disk is full.',
  code: 'error',
  message: 'the provider returned status 529',
}
