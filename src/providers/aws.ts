// Amazon Bedrock. Calls are not forwarded to it. The name of an error is in a header.
import { defineProvider } from './define.ts'
import { type ErrorShape, type ErrorVocabulary, type ProviderRefusal, reportRefusal, uuid } from './error-messages.ts'
import { noCountdown } from './quota-headers.ts'

function awsError(refusal: ProviderRefusal): ErrorShape {
  const { limit, requested, unit = 'requests', id } = refusal
  const vocabulary: ErrorVocabulary = {
    'rate-limit': [429, 'ThrottlingException', `Too many ${unit}, please wait before trying again.`],
    'auth-failure': [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.'],
    'context-length': [400, 'ValidationException', `Input is too long: ${requested} tokens, the model takes ${limit}.`],
    'content-filter': [400, 'ValidationException', 'The request was blocked by the content filtering policy.'],
    'quota-exceeded': [400, 'ServiceQuotaExceededException', 'The request exceeds the service quota of your account.'],
    'model-not-found': [404, 'ResourceNotFoundException', 'This model version has reached the end of its life.'],
    overloaded: [503, 'ServiceUnavailableException', 'The service is too busy, please try again.'],
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
  const [status, name, message] = reportRefusal(refusal, { vocabulary, names })
  return { status, headers: { 'x-amzn-errortype': name, 'x-amzn-requestid': uuid(id) }, body: { message } }
}

/** The provider Amazon Bedrock: its errors. */
export const awsProvider = defineProvider({
  name: 'aws',
  error: awsError,
  // It sends neither quota headers nor `Retry-After`.
  quota: noCountdown,
  sendsRetryAfter: false,
})
