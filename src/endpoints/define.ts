// What every router endpoint does before the gateway: body and validation.
import type { ConnectionFinder } from '../contract/core/connection.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { Wire } from '../contract/core/wire.ts'
import { rejectManyVariables } from '../contract/router/variables.ts'
import type { Call, RawFields } from '../gateway/call.ts'
import type { Gateway } from '../gateway/types.ts'
import { lazy } from '../lib/lazy.ts'
import { asObject, asText } from '../lib/values.ts'
import { parseCall } from '../schema/parse.ts'
import type { Activity, Session } from '../sessions/session.ts'
import { CALL_VALUES, type RequestBody, readAnyJson, readBody, readForm } from './body.ts'
import { withProviders } from './model-names.ts'
import { fromNamespace, STANDARD_NAMESPACE, toNamespace } from './namespace.ts'

// Needed by few calls.
const forms = lazy<typeof import('./form.ts')>(() => require('./form.ts'))
const longLists = lazy<typeof import('../schema/long-lists.ts')>(() => require('../schema/long-lists.ts'))

/** What the endpoints are configured with. */
interface EndpointDeps {
  gateway: Gateway
  /** Largest body in bytes. */
  maxBody: number
  /** Longest that a client is waited for, in ms. */
  clientTimeout: number
  /** What requests call the service options object. */
  namespace: string
  /** Provider of the models that are named without one. */
  defaultProvider: string
}

/** One request, in its session. */
interface ClientRequest {
  request: Request
  /** What it was when it came. */
  received: Pick<Request, 'url' | 'headers'>
  /** The session as it is when the call begins. */
  session(): Session
  caller: Call['caller']
  /** Finds its connection. */
  hold: ConnectionFinder | undefined
  /** How the answer is put, when the client came by another door than that of this API. */
  wire?: Wire | undefined
}

/** Answers one request to a router operation. */
export async function serveOperation(
  operation: Operation,
  client: ClientRequest,
  deps: EndpointDeps,
): Promise<Response> {
  const { request } = client
  const bytes = await readBody(request, deps)
  const read = await bodyOf(operation, bytes, request.headers.get('content-type'))
  const call = new ClientCall(operation, client, { bytes, read, deps })
  try {
    const beginning = client.hold?.begins?.(new URL(call.url).pathname, bytes)
    if (beginning) await beginning
    const answering = deps.gateway.handle(call)
    return await (client.hold?.waitsFor?.(answering) ?? answering)
  } catch (error) {
    call.onEnd()
    throw error
  }
}

function bodyOf(operation: Operation, bytes: Uint8Array, type: string | null): RequestBody | Promise<RequestBody> {
  if (operation.body === 'multipart') return readForm(bytes, type, operation)
  return readAnyJson(bytes, type, CALL_VALUES)
}

/** The body of a call, and how it is understood. */
interface BodyReading {
  bytes: Uint8Array
  read: RequestBody
  deps: Pick<EndpointDeps, 'namespace' | 'defaultProvider'>
}

/** A call of a client; it begins in its session. */
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
    const { bytes, read } = this.#reading
    const isText =
      this.operation.body === 'json' && 'value' in read && Buffer.byteLength(this.text) === bytes.byteLength
    return isText && !this.text.includes(REPLACED) ? undefined : bytes
  }

  /** Of a compatible API alone; worked out when it is first asked for. */
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

  /** By the schema of the operation; it is known then what was named without a provider. */
  parse(): unknown {
    const { operation } = this
    const value = this.#value()
    try {
      return parseCall(operation, this.#named(value), { status: operation.invalidStatus })
    } catch (error) {
      throw renamedIfOurs(error, this.#reading.deps.namespace)
    }
  }

  async parseInSlices(): Promise<unknown> {
    const { request: schema, longList: field, invalidStatus: status } = this.operation
    const value = this.#value()
    try {
      return await longLists().parseLongList({ schema, field, status }, this.#named(value))
    } catch (error) {
      throw renamedIfOurs(error, this.#reading.deps.namespace)
    }
  }

  #value(): unknown {
    const { read } = this.#reading
    if ('refused' in read) throw read.refused
    return read.value
  }

  /** A body in the terms of the operation, with full names of models. */
  #named(value: unknown): unknown {
    const { deps } = this.#reading
    const { operation, wire } = this
    const body = fromNamespace(wire?.take ? wire.take(value) : value, deps.namespace)
    const typed = operation.body === 'multipart' ? forms().typedFields(body as object, operation) : body
    const named = withProviders(typed, wire?.provider ?? deps.defaultProvider)
    this.assumed = named.assumed
    rejectManyVariables(named.body, operation.invalidStatus)
    return named.body
  }
}

/** In the place of what is no UTF-8, when it is read as that. */
const REPLACED = '\ufffd'

const renamedIfOurs = (error: unknown, namespace: string) =>
  error instanceof ApiError ? renamed(error, namespace) : error

/** The error in the words of the deployment. */
const renamed = (error: ApiError, namespace: string): ApiError =>
  new ApiError(error.status, error.code, toNamespace(error.message, namespace), {
    param: error.param && toNamespace(error.param, namespace),
    headers: error.headers,
    type: error.type,
  })
