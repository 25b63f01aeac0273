// Recognizes the errors by which providers reject an input that exceeds the context window.

/** An error that a client received. */
interface ToldError {
  code: string
  message: string
}

const CODES = new Set(['context_length_exceeded', 'invalid_request_prompt'])

/** Messages of OpenAI and Azure, Anthropic, Bedrock, Cohere, Google and Mistral, as their files have them. */
const MESSAGES =
  /maximum context length|prompt is too long|exceeds? (?:the )?context (?:limit|window)|input is too long|too many tokens|input token count .* exceeds/i

/** Whether an error says that the input is too long. */
export const isTooLong = ({ code, message }: ToldError): boolean => CODES.has(code) || MESSAGES.test(message)
