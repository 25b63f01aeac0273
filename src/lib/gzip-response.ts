// Responses with files that are stored compressed.

/** A file, compressed and itself. */
interface CompressedFile {
  compressed: Uint8Array<ArrayBuffer>
  bytes(): Uint8Array<ArrayBuffer>
}

/** The file, compressed if the client accepts that, as a page that no other site may use. */
export function gzipResponse(
  request: Pick<Request, 'headers'>,
  { compressed, bytes }: CompressedFile,
  { status = 200, headers }: { status?: number; headers: Record<string, string> },
): Response {
  const small = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  return new Response(small ? compressed : bytes(), {
    status,
    headers: {
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // Another version of the program may use the same address next.
      'cache-control': 'no-cache',
      vary: 'accept-encoding',
      ...headers,
      ...(small && { 'content-encoding': 'gzip' }),
    },
  })
}
