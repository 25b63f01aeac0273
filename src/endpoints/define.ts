// Serves a router operation: reads and validates the body, then calls the gateway.
import type { ConnectionFinder } from '../contract/core/connection.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { Wire } from '../contract/core/wire.ts'
import type { Call, RawFields } from '../gateway/call.ts'
import type { Gateway } from '../gateway/types.ts'
import { lazy } from '../lib/lazy.ts'
import { asObject, asText } from '../lib/values.ts'
import { parseCall } from '../schema/parse.ts'
import type { Activity, Session } from '../sessions/session.ts'
import { type BodyLimits, CALL_VALUES, type RequestBody, readBody, readForm, readJson } from './body.ts'
import { fromNamespace, STANDARD_NAMESPACE, toNamespace, withProviders } from './deployment-names.ts'

// Loaded late, since few calls need them.
const forms = lazy<typeof import('./form.ts')>(() => require('./form.ts'))
const longLists = lazy<typeof import('../schema/long-lists.ts')>(() => require('../schema/long-lists.ts'))

/** The configuration of the endpoints. */
interface EndpointDeps extends BodyLimits {
  gateway: Gateway
  /** The name of the service options object in requests. */
  namespace: string
  /** Provider of models without a provider name. */
  defaultProvider: string
}

/** A request in its session. */
interface ClientRequest extends Pick<Call, 'received' | 'caller' | 'hold' | 'wire'> {
  request: Request
  /** Returns the session at the start of the call. */
  session(): Session
  /** Called with the error if the request is rejected before it has a session. */
  refused(error: unknown): void
}

/** Responds to a request for a router operation. */
export async function serveOperation(
  operation: Operation,
  client: ClientRequest,
  deps: EndpointDeps,
): Promise<Response> {
  const { request } = client
  let call: ClientCall | undefined
  try {
    const bytes = await readBody(request, deps)
    const type = request.headers.get('content-type')
    const reading =
      operation.body === 'multipart' ? readForm(bytes, type, operation) : readJson(bytes, type, CALL_VALUES)
    const read = reading instanceof Promise ? await reading : reading
    call = new ClientCall(operation, client, { bytes, read, deps })
    const beginning = client.hold?.begins?.(new URL(call.url).pathname, bytes)
    if (beginning) await beginning
    const answering = deps.gateway.handle(call)
    return await (client.hold?.waitsFor?.(answering) ?? answering)
  } catch (error) {
    if (call) call.onEnd()
    else client.refused(error)
    throw error
  }
}

/** The body of a call, and the settings for parsing it. */
interface BodyReading {
  bytes: Uint8Array
  read: RequestBody
  deps: Pick<EndpointDeps, 'namespace' | 'defaultProvider'>
}

/** The call of a client, which begins in its session. */
class ClientCall implements Call {
  readonly operation: Operation
  readonly session: Session
  readonly caller: Call['caller']
  readonly text: string
  readonly retained: boolean
  readonly url: string
  readonly headers: Headers
  readonly received: Call['received']
  readonly hold: ConnectionFinder | undefined
  readonly wire: Wire | undefined
  assumed: Call['assumed']
  readonly #activity: Activity
  readonly #reading: BodyReading
  #raw: { fields: RawFields | undefined } | undefined
  #unread: { bytes: Uint8Array | undefined } | undefined

  constructor(operation: Operation, client: ClientRequest, reading: BodyReading) {
    const { request, received, session, caller, hold, wire } = client
    const { read } = reading
    this.operation = operation
    this.caller = caller
    this.text = read.text
    this.retained = 'refused' in read || (operation.retains?.(read.value) ?? true)
    this.url = request.url
    this.headers = request.headers
    this.received = received
    this.hold = hold
    this.wire = wire
    this.#reading = reading
    this.session = session()
    this.#activity = this.session.begin(request)
  }

  get body(): Uint8Array {
    return this.#reading.bytes
  }

  get unread(): Uint8Array | undefined {
    this.#unread ??= { bytes: this.#unreadBytes() }
    return this.#unread.bytes
  }

  #unreadBytes(): Uint8Array | undefined {
    const { bytes, read } = this.#reading
    const isText =
      this.operation.body === 'json' && 'value' in read && Buffer.byteLength(this.text) === bytes.byteLength
    return isText && !this.text.includes(REPLACED) ? undefined : bytes
  }

  /** Only for compatible APIs; created at first use. */
  get raw(): RawFields | undefined {
    this.#raw ??= { fields: this.#rawFields() }
    return this.#raw.fields
  }

  #rawFields(): RawFields | undefined {
    const { read, deps } = this.#reading
    const fields = this.wire && 'value' in read ? asObject(fromNamespace(read.value, deps.namespace)) : undefined
    const model = asText(fields?.model)
    if (!fields || !model) return undefined
    const named = withProviders({ model }, this.wire?.provider ?? deps.defaultProvider).body as { model: string }
    return { fields, model, fullModel: named.model }
  }

  get signal(): AbortSignal {
    return this.#activity.signal
  }

  get aborted(): boolean {
    return this.#activity.aborted
  }

  onEnd(trace?: TraceRecord): void {
    this.#activity.end()
    this.hold?.ends?.(trace)
  }

  inDeploymentTerms(error: ApiError): ApiError {
    const isStandard = error.param?.startsWith(`${STANDARD_NAMESPACE}.`)
    return isStandard ? renamed(error, this.#reading.deps.namespace) : error
  }

  /** Parses the body with the schema of the operation, and records completed model names in `assumed`. */
  parse(): unknown {
    const { operation } = this
    const value = this.#value()
    try {
      return parseCall(operation, this.#named(value), { status: this.#invalidStatus })
    } catch (error) {
      throw renamedIfOurs(error, this.#reading.deps.namespace)
    }
  }

  async parseInSlices(): Promise<unknown> {
    const { request: schema, longList: field } = this.operation
    const status = this.#invalidStatus
    const value = this.#value()
    try {
      return await longLists().parseLongList({ schema, field, status }, this.#named(value))
    } catch (error) {
      throw renamedIfOurs(error, this.#reading.deps.namespace)
    }
  }

  /** Status of an invalid body. Providers' own APIs answer 400 everywhere. */
  get #invalidStatus(): number | undefined {
    return this.wire ? undefined : this.operation.invalidStatus
  }

  #value(): unknown {
    const { read } = this.#reading
    if ('refused' in read) throw read.refused
    return read.value
  }

  /** The body in the format of the operation, with full model names. */
  #named(value: unknown): unknown {
    const { deps } = this.#reading
    const { operation, wire } = this
    const invalidStatus = this.#invalidStatus
    const body = fromNamespace(wire?.take ? wire.take(value) : value, deps.namespace)
    const typed =
      operation.body === 'multipart'
        ? forms().typedFields(body as object, { request: operation.request, invalidStatus })
        : body
    const named = withProviders(typed, wire?.provider ?? deps.defaultProvider)
    this.assumed = named.assumed
    rejectManyVariables(named.body, invalidStatus)
    return named.body
  }
}

/** Replaces invalid UTF-8 in decoded text. */
const REPLACED = '\ufffd'

const renamedIfOurs = (error: unknown, namespace: string) =>
  error instanceof ApiError ? renamed(error, namespace) : error

/** The error with the field names of the deployment. */
const renamed = (error: ApiError, namespace: string): ApiError =>
  new ApiError(error.status, error.code, toNamespace(error.message, namespace), {
    param: error.param && toNamespace(error.param, namespace),
    headers: error.headers,
    type: error.type,
  })

/** Far more variables than anyone writes, and few enough to be checked within milliseconds. */
const MAX_VARIABLES = 10_000

/**
 * Rejects a body with too many `variables` or `svc.inputs`.
 * @param status of the error
 * @throws ApiError with the field and the limit
 */
function rejectManyVariables(body: unknown, status = 400): void {
  const { variables, svc } = asObject(body) ?? {}
  for (const [param, given] of [['variables', variables] as const, ['svc.inputs', asObject(svc)?.inputs] as const]) {
    const count = Array.isArray(given) ? given.length : Object.keys(asObject(given) ?? {}).length
    if (count <= MAX_VARIABLES) continue
    const message = `'${param}' must have at most ${MAX_VARIABLES} variables, got ${count}`
    throw new ApiError(status, 'invalid_value', message, { param })
  }
}
