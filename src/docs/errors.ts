// What the document says of each status that an error may have, with an example.

interface ErrorKind {
  description: string
  code: string
  message: string
  param?: string
}
/** By status. */
export const ERRORS: Record<number, ErrorKind> = {
  400: {
    description: 'A field, the JSON or the name of the session is not valid; `param` names it.',
    code: 'invalid_value',
    message: "'temperature' must be at most 2, got 3",
    param: 'temperature',
  },
  401: {
    description: 'No bearer token, or not one of those allowed.',
    code: 'invalid_token',
    message: "send a token: 'Authorization: Bearer <token>'",
  },
  403: {
    description:
      'The `Host` header is not one of this server, or the page of another origin, which `--cors` does not name, would change something.',
    code: 'origin_not_allowed',
    message:
      'a page of "http://example.com" may change nothing here: only pages of this server may, and those of the origins that --cors names',
  },
  404: {
    description: 'Nothing goes by that name.',
    code: 'not_found',
    message: 'nothing goes by the name "example"',
  },
  405: {
    description: 'The path does not take this method.',
    code: 'method_not_allowed',
    message: 'the path takes POST, got GET',
  },
  408: {
    description: 'The body did not come to its end in time.',
    code: 'request_timeout',
    message: 'the body did not arrive in time (--client-timeout)',
  },
  409: {
    description: 'It would clash with what is there, or the session was reset meanwhile.',
    code: 'key_taken',
    message: '\'key\' must be unique: there is a tool with key "example" already',
    param: 'key',
  },
  413: {
    description: 'The body is larger than `--max-body`.',
    code: 'request_too_large',
    message: 'the body is larger than 33554432 bytes (--max-body)',
  },
  415: {
    description: 'The content type is not the one this path takes.',
    code: 'unsupported_media_type',
    message: 'content-type "text/plain" is not supported; send application/json',
  },
  422: {
    description: 'A field is not valid; `param` names it.',
    code: 'invalid_value',
    message: "'temperature' must be at most 1, got 3",
    param: 'temperature',
  },
  429: {
    description: 'Too many sessions.',
    code: 'session_limit',
    message: 'there are 1000 sessions already; restart, or use one of them',
  },
}
