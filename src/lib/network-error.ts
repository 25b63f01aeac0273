// The runtime's message about a failed connection, without its advice to programmers and without the address, which may
// contain a secret.

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'it was refused',
  ECONNRESET: 'it was closed before the response was complete',
  ENOTFOUND: 'there is no host of that name',
  InvalidHTTPResponse: 'what came is not HTTP',
  Malformed_HTTP_Response: 'what came is not HTTP',
  ZlibError: 'what came cannot be unpacked',
  BrotliDecompressionError: 'what came cannot be unpacked',
  ZstdDecompressionError: 'what came cannot be unpacked',
}
const ADVICE = /(?: fetching "[^"]*")?\.? For more information, pass `verbose: true`.*$/s

/** Why a connection failed. */
export function networkReason(error: unknown): string {
  const { code, message } = error as { code?: unknown; message: string }
  return REASONS[String(code)] ?? message.replace(ADVICE, '')
}
