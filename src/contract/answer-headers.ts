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

/** Headers of every answer, with what they say. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  [REQUEST_ID]: 'Id of the request: that of its trace, when it has one.',
  [INSTANCE]: 'The process that answered: --instance, else its host and port.',
  [NEW_SESSION]:
    'true on the first answer of a session that nobody has made: it begins here, whatever another instance knows of it. Absent otherwise.',
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
