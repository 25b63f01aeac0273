// Amazon Bedrock. Calls are not forwarded to it. The name of an error is in a header.
import { defineProvider } from './define.ts'
import { errorFormat, uuid } from './error-messages.ts'
import { noCountdown } from './quota-headers.ts'

const awsError = errorFormat(({ limit, requested, unit, id }) => ({
  words: {
    'rate-limit': [429, `Too many ${unit}, please wait before trying again.`],
    'auth-failure': [403, 'The security token included in the request is invalid.', 'UnrecognizedClientException'],
    'context-length': [400, `Input is too long: ${requested} tokens, the model takes ${limit}.`],
    'content-filter': [400, 'The request was blocked by the content filtering policy.'],
    'quota-exceeded': [400, 'The request exceeds the service quota of your account.', 'ServiceQuotaExceededException'],
    'model-not-found': [404, 'This model version has reached the end of its life.'],
    overloaded: [503, 'The service is too busy, please try again.'],
  },
  names: {
    400: 'ValidationException',
    403: 'AccessDeniedException',
    404: 'ResourceNotFoundException',
    408: 'ModelTimeoutException',
    424: 'ModelErrorException',
    429: 'ThrottlingException',
    500: 'InternalServerException',
    503: 'ServiceUnavailableException',
  },
  shape: (status, message, name) => ({
    status,
    headers: { 'x-amzn-errortype': name, 'x-amzn-requestid': uuid(id) },
    body: { message },
  }),
}))

/** The provider Amazon Bedrock: its errors. */
export const awsProvider = defineProvider({
  name: 'aws',
  error: awsError,
  // It sends neither quota headers nor `Retry-After`.
  quota: noCountdown,
  sendsRetryAfter: false,
})
