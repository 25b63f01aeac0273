// A call as a command that repeats it: the same bytes to the same URL, under the same scenario. Also used by the page.
import type { Exchange } from '../contract/core/exchange.ts'
import type { StoredTrace } from '../contract/core/trace.ts'
import { bytesIn, toBase64 } from './wire-text.ts'

type Received = NonNullable<Exchange['request']>

/** The call to repeat, and the server. */
interface RepeatedCall {
  trace: Pick<StoredTrace, 'session' | 'scenario' | 'stream' | 'request'>
  exchange: Exchange
  /** Of the server, such as `http://127.0.0.1:8633`. */
  origin: string
  /** Whether it is repeated in a new session each time, in which its scenario restarts. */
  inNewSession?: boolean
}

/** Text in single quotes, which a shell does not expand. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
/** The same with one variable that the shell expands. Any token works unless the server requires a certain one. */
const filledIn = (before: string, variable: string, after = '') =>
  `"${escaped(before)}\${${variable}:-any}${escaped(after)}"`
const escaped = (text: string) => text.replace(/["$`\\]/g, '\\$&')

/** Headers of a connection or a program, not of the call. */
const NOT_REPEATED =
  /^(?:host|connection|content-length|transfer-encoding|expect|keep-alive|te|trailer|upgrade|accept-encoding|accept-language|user-agent|cookie|origin|referer|priority|dnt|cache-control|pragma|sec-.*|x-stainless-.*|x-forwarded-.*|forwarded|via|traceparent|tracestate|baggage)$/
const MASK = '(masked)'
/** Maximum length of a command's argument on Linux. */
const MAX_IN_ARGUMENT = 100_000

/** The command, for a POSIX shell with curl; undefined for a call whose body was not stored. */
export function curlOf({ trace, exchange, origin, inNewSession: anew = false }: RepeatedCall): string | undefined {
  const request = anew ? withoutSession(exchange.request) : exchange.request
  if (!request) return undefined
  const body = bodyArguments(trace, request)
  if (!body) return undefined
  const { before = '', options, behind = '' } = body
  const call = [
    `${before}curl -sS${trace.stream ? ' -N' : ''}${urlOptions(request)} ${urlArgument(origin, request)}`,
    ...headersOf(trace, request, body).map((header) => `  -H ${header}`),
    ...(anew ? ['  -H "x-understudy-session: repeat-$(date +%s)"'] : []),
    ...options.map((option) => `  ${option}`),
  ]
  return `${call.join(' \\\n')}${behind}`
}

/** The request without the session in its path or header. One in its token is overridden by a header. */
function withoutSession(request: Exchange['request']): Exchange['request'] {
  if (!request) return request
  const { 'x-understudy-session': _, ...headers } = request.headers ?? usualHeaders(request, 'default')
  return { ...request, address: request.address.replace(/^\/s\/[^/]+(?=\/)/, ''), headers }
}

/** curl would interpret these characters. */
const urlOptions = ({ address }: Received): string =>
  `${/[[\]{}]/.test(address) ? ' -g' : ''}${/\/\.\.?(?:[/?]|$)/.test(address) ? ' --path-as-is' : ''}`

/** The URL; a secret in its query becomes a variable. */
function urlArgument(origin: string, { address }: Received): string {
  const parts = address.split(/([^?&=]+=\(masked\))/)
  return parts
    .map((part, index) => {
      if (index % 2 === 0) return part === '' && index > 0 ? '' : quoted(index === 0 ? `${origin}${part}` : part)
      const name = part.slice(0, part.indexOf('='))
      return filledIn(`${name}=`, variableOf(name))
    })
    .join('')
}

const variableOf = (name: string) =>
  name
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '_')
    .replace(/^\d/, '_$&')

/** The variable for the token of an API's clients. */
function tokenVariable({ address }: Received, header: string): string {
  if (header === 'x-api-key' || address.includes('/messages')) return 'ANTHROPIC_API_KEY'
  return /^(?:\/s\/[^/]+)?\/v1\//.test(address) ? 'OPENAI_API_KEY' : 'UNDERSTUDY_TOKEN'
}

function headersOf(
  { session, scenario }: RepeatedCall['trace'],
  request: Received,
  { typed }: Pick<BodyArguments, 'typed'>,
): string[] {
  const headers = request.headers ?? usualHeaders(request, session)
  const kept = Object.entries(headers).filter(
    ([name, value]) =>
      !NOT_REPEATED.test(name) &&
      !(name === 'accept' && value === '*/*') &&
      !(name === 'content-type' && typed) &&
      name !== 'x-understudy-scenario',
  )
  const found = kept.map(([name, value]) => headerArgument(request, name, value))
  // Without it curl would send the content type of a form.
  if (headers['content-type'] === undefined && !typed) found.push(quoted('content-type:'))
  if (scenario !== null) found.push(quoted(`x-understudy-scenario: ${scenario}`))
  return found
}

/** The usual headers of clients, if those of the call were not stored. */
function usualHeaders(request: Received, session: string): Record<string, string> {
  const isAnthropic = request.address.includes('/messages')
  return {
    'content-type': 'application/json',
    ...(isAnthropic ? { 'x-api-key': MASK, 'anthropic-version': '2023-06-01' } : { authorization: `Bearer ${MASK}` }),
    ...(session !== 'default' && !request.address.startsWith('/s/') && { 'x-understudy-session': session }),
  }
}

function headerArgument(request: Received, name: string, value: string): string {
  const at = value.indexOf(MASK)
  if (at < 0) return quoted(`${name}: ${value}`)
  const isToken = name === 'authorization' || name === 'x-api-key'
  const variable = isToken ? tokenVariable(request, name) : variableOf(name)
  return filledIn(`${name}: ${value.slice(0, at)}`, variable, value.slice(at + MASK.length))
}

interface BodyArguments {
  /** Before and after the command. */
  before?: string
  behind?: string
  options: string[]
  /** Whether curl sets the content type itself. */
  typed?: true
}

function bodyArguments(
  { request: read }: RepeatedCall['trace'],
  { body, truncated }: Received,
): BodyArguments | undefined {
  if (truncated) return formArguments(read)
  const { text } = body
  if (text !== undefined && text.length <= MAX_IN_ARGUMENT && !text.includes('\0'))
    return { options: [`--data-raw ${quoted(text)}`] }
  const lines = toBase64(bytesIn(body)).replace(/.{1,120}/g, '$&\n')
  return { before: "base64 -d <<'EOF' | ", options: ['--data-binary @-'], behind: `\n${lines}EOF` }
}

/** The fields of a form that was too long to be stored: its files must exist. */
function formArguments(read: unknown): BodyArguments | undefined {
  if (typeof read !== 'object' || read === null) return undefined
  const options = Object.entries(read).map(([name, value]) => {
    if (typeof value === 'string') return `--form-string ${quoted(`${name}=${value}`)}`
    const { name: file, type } = value as { name: string; type: string }
    return `-F ${quoted(`${name}=@"${file.replace(/["\\]/g, '\\$&')}"${type ? `;type=${type}` : ''}`)}`
  })
  return { options, typed: true }
}
