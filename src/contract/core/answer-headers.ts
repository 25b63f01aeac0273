// The headers of responses and requests, with their documentation.

/** On every response. */
export const REQUEST_ID = 'x-request-id'
/** Names the trace of a call. */
export const TRACE_ID = 'x-understudy-trace'
/** The rules of the scenario that were triggered for a response. */
export const FAULTS = 'x-understudy-faults'

/** Names the process that responds. */
export const INSTANCE = 'x-understudy-instance'
/** Tells that this call created the session. */
export const NEW_SESSION = 'x-understudy-session-new'

/** Tells that calls of the session may have been handled by another instance, and why. */
export const SESSION_INCOMPLETE = 'x-understudy-session-incomplete'
/**
 * On requests: the balancer's note of the instance that handled the session's last call, as `crc32` of its name; 0 is
 * unknown.
 */
export const ANSWERED_BY = 'x-understudy-served-by'

/** Headers of every response, with descriptions. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  [REQUEST_ID]: 'Id of the request. The same as the trace id, if there is a trace.',
  [INSTANCE]: 'The instance that responded: the value of --instance, or host and port.',
  [NEW_SESSION]:
    '`true` on the first response of a session that this request created implicitly. Another instance may have a session with the same name. Absent otherwise.',
  [SESSION_INCOMPLETE]:
    'Only for named instances. `restored`: first response of a session loaded from an earlier process. `moved`: first response after another instance served the session, as reported by the load balancer. The data may be incomplete. Absent otherwise.',
}

/** Headers of router responses, with descriptions. */
export const ROUTER_HEADERS: Readonly<Record<string, string>> = {
  [TRACE_ID]: 'Id of the trace of this call.',
  'x-understudy-attempts': 'Number of attempts.',
  'x-understudy-fallback': 'Position of the model that responded. 0 is the primary model.',
  'x-understudy-cache': '`hit`, `miss`, or `off`.',
  'x-understudy-model': 'The model that responded.',
  'x-understudy-assumed': 'Models that the request names without a provider, with the default provider filled in.',
  'x-understudy-session': 'The session of this call.',
  'x-understudy-call-site': "Injection point of the call, independent of the user's input.",
  [FAULTS]: 'Rules whose faults were injected.',
  'x-understudy-fixture': 'The matched fixture, or `generated`. Absent for a cached response.',
  'x-understudy-scenario': 'The active scenario, if any.',
}

/** Headers that clients and load balancers send, with descriptions. */
export const REQUEST_HEADERS: Readonly<Record<string, string>> = {
  'x-understudy-session': 'Name of the session of this request, as `/s/<name>/` in the path.',
  'x-understudy-scenario': "Scenario for this call alone. The session's clock does not change.",
  [ANSWERED_BY]:
    "Set by a load balancer: the CRC-32 of the name of the instance that served the session's last call; 0 if unknown.",
}

/** Headers of some responses of the workspace, with descriptions. */
export const WORKSPACE_HEADERS: Readonly<Record<string, string>> = {
  'x-understudy-warning':
    'Why a request was accepted although something is wrong, such as feedback for an unknown trace.',
}
