// What the document says of each status that an error may have, with an example that the server really gives.

interface ErrorKind {
  /** What the document calls it. */
  name: string
  description: string
  code: string
  message: string
  param?: string
  /** When it is not that of the status. */
  type?: string
}
/** By status. */
export const ERRORS: Record<number, ErrorKind> = {
  400: {
    name: 'BadRequest',
    description: 'A field, the JSON or the name of the session is not valid; `param` names it.',
    code: 'invalid_value',
    message: "'temperature' must be at most 2, got 3",
    param: 'temperature',
  },
  401: {
    name: 'Unauthorized',
    description: 'No bearer token, or not one of those allowed.',
    code: 'invalid_token',
    message: "send a token: 'Authorization: Bearer <token>' (any token works unless --token is set)",
  },
  403: {
    name: 'Forbidden',
    description:
      'The `Host` header is not one of this server, or the page of another origin, which `--cors` does not name, would change something.',
    code: 'origin_not_allowed',
    message:
      'a page of "http://example.com" may change nothing here: only pages of this server may, and those of the origins that --cors names',
  },
  404: {
    name: 'NotFound',
    description: 'Nothing goes by that name.',
    code: 'not_found',
    message: 'nothing goes by the name "example"',
  },
  408: {
    name: 'RequestTimeout',
    description: 'The body did not come to its end in time.',
    code: 'request_timeout',
    message: 'the body did not arrive in time (--client-timeout)',
  },
  409: {
    name: 'Conflict',
    description: 'It would clash with what is there, or the session was reset meanwhile.',
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
    description: 'The content type is not the one this path takes.',
    code: 'unsupported_media_type',
    message: 'content-type "text/plain" is not supported; send application/json',
  },
  422: {
    name: 'Unprocessable',
    description: 'A guardrail does not let it through, or, of a form, a field is not valid; `param` names the field.',
    code: 'guardrail_violation',
    message: 'the input does not pass the guardrail "svc_pii_detection": it holds an e-mail address',
    param: 'guardrails[0]',
  },
  429: {
    name: 'TooManyRequests',
    description:
      'There are too many sessions, or too many who wait; of calls to models also what the provider says of its limits, or the limit of `--max-calls`.',
    code: 'session_limit',
    message: 'there are 1000 sessions already; restart, or use one of them',
  },
  500: {
    name: 'ServerError',
    description: 'The provider failed, or, with `internal_error`, this program did, which is a bug.',
    code: 'server_error',
    message: 'The server had an error while processing the request.',
  },
  502: {
    name: 'BadGateway',
    description: 'The provider could not be reached, broke off, or answered what cannot be read.',
    code: 'provider_disconnected',
    message: 'the connection was reset before the answer (ECONNRESET)',
  },
  503: {
    name: 'Unavailable',
    description:
      'The provider is overloaded or not there; or, with `draining`, this program is being stopped and begins no more sessions. `Retry-After` says when to ask again.',
    code: 'server_error',
    message: 'The service is overloaded or not ready: try again later.',
  },
  504: {
    name: 'GatewayTimeout',
    description: 'No attempt came to its end within `timeout.call_timeout`.',
    code: 'timeout',
    message: 'openai/gpt-4o did not answer within the call_timeout of 1000 ms',
  },
}

/** Everything else that a provider, or a scenario in its place, may answer. */
export const OTHER: ErrorKind = {
  name: 'OtherError',
  description:
    'Any other status from 400 on, in the same envelope: what a provider, or a rule of the scenario, answers with; 500 with `internal_error`, which is a bug of this program; 507 with `storage_failed` where nothing can be stored, as on a full disk.',
  code: 'error',
  message: 'the provider has answered with status 529',
}
