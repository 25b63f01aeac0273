// The headers that answers have, with what documents say of them.

/** On every answer. */
export const REQUEST_ID = 'x-request-id'
/** Names the trace of a call. */
export const TRACE_ID = 'x-understudy-trace'
/** The rules of the scenario that acted on an answer. */
export const FAULTS = 'x-understudy-faults'

/** Names the process that answers. */
export const INSTANCE = 'x-understudy-instance'
/** Says that a session begins with this call. */
export const NEW_SESSION = 'x-understudy-session-new'

/** Says that calls of the session may have been answered by another instance, and why. */
export const SESSION_INCOMPLETE = 'x-understudy-session-incomplete'
/** On requests: what the balancer says of the instance that answered the session's last call, as `crc32` of its name; 0 is unknown. */
export const ANSWERED_BY = 'x-understudy-answered-by'

/** Headers of every answer, with what they say. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  [REQUEST_ID]: 'Id of the request: that of its trace, when it has one.',
  [INSTANCE]: 'The process that answered: --instance, else its host and port.',
  [NEW_SESSION]:
    'true on the first answer of a session that nobody has made: it begins here, whatever another instance knows of it. Absent otherwise.',
  [SESSION_INCOMPLETE]:
    'Of an instance with a name: `restored` on the first answer of a session that an earlier process of it has left, `moved` on the first one after another instance has answered calls of the session, as far as the balancer says so. What it holds may not be all that there was. Absent otherwise.',
}

/** Headers of the router's answers, with what they say. */
export const ROUTER_HEADERS: Readonly<Record<string, string>> = {
  [TRACE_ID]: 'Id of the trace of this call.',
  'x-understudy-attempts': 'Attempts made.',
  'x-understudy-fallback': 'Position of the model that answered: 0 is the primary one.',
  'x-understudy-cache': 'hit, miss or off.',
  'x-understudy-model': 'The model that answered.',
  'x-understudy-assumed': 'Models that the request names without a provider, as they were understood.',
  'x-understudy-session': 'The session of this call.',
  'x-understudy-point': 'Which of the calls of a program it is, whatever its user said.',
  [FAULTS]: 'Faults applied, by rule.',
  'x-understudy-fixture': 'The fixture that answered, or synthesized; absent when the cache did.',
  'x-understudy-scenario': 'The scenario that is played, when there is one.',
}
