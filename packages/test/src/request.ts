// Requests to the control API. Not by fetch, which tests replace and some environments of tests do not have.
import { request as plain } from 'node:http'
import { request as secure } from 'node:https'
import { UnderstudyError } from './executable.ts'

/** What is asked of a server. */
export interface ControlRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  /** Session that is meant; the default one when left out. */
  session?: string
  body?: unknown
}

/** A status and a body. */
export interface ControlAnswer {
  status: number
  body: unknown
}

/** Where a server is, and with which token it is called. */
export interface ServerAddress {
  url: string
  /** A token that may call; undefined where any will do. */
  token: string | undefined
}

/** Sends a request and gives what came back, whatever its status. */
export function send({ url, token }: ServerAddress, { method, path, session, body }: ControlRequest) {
  const target = new URL(`${url}${path}`)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers: Record<string, string> = { authorization: `Bearer ${token ?? 'test'}` }
  if (session !== undefined) headers['x-understudy-session'] = session
  if (text !== undefined) headers['content-type'] = 'application/json'
  return new Promise<ControlAnswer>((resolve, reject) => {
    const unreachable = (error: Error) =>
      reject(new UnderstudyError(`no Understudy server responds at ${url}: ${error.message}`))
    const call = (target.protocol === 'https:' ? secure : plain)(target, { method, headers }, (answer) => {
      const parts: Buffer[] = []
      answer.on('error', unreachable)
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: parsed(Buffer.concat(parts)) }))
    })
    call.on('error', unreachable)
    call.end(text)
  })
}

/** The same, where everything but success is an `UnderstudyError` with the server's own message. */
export async function ask(server: ServerAddress, request: ControlRequest): Promise<unknown> {
  const { status, body } = await send(server, request)
  if (status < 300) return body
  throw new UnderstudyError(
    messageOf(body) ?? `${request.method} ${server.url}${request.path} returned status ${status}`,
  )
}

function messageOf(body: unknown): string | undefined {
  const { message } = (body ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : undefined
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
