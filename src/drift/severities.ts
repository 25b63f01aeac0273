// The published table of changes: how severe each is for programs that were written for the recorded response.

/** How severe a change is. An error breaks clients; a warning may; information is of interest when code is changed. */
export type DriftSeverity = (typeof DRIFT_SEVERITIES)[number]
/** The severities, the highest first. */
export const DRIFT_SEVERITIES = ['error', 'warning', 'info'] as const

/** The kinds of changes, in the order of the table. */
export const CHANGES = {
  'status-changed': {
    severity: 'error',
    says: 'The request is refused with another 4xx status than 401, 403, 408 or 429.',
  },
  'content-type-changed': { severity: 'error', says: 'The media type is another one.' },
  'field-vanished': { severity: 'error', says: 'A field that the API requires is gone.' },
  'type-changed': { severity: 'error', says: 'A field has a JSON type that the API does not allow.' },
  'object-changed': { severity: 'error', says: '`object`, `type` or `role` has a value that the API does not allow.' },
  'event-vanished': {
    severity: 'error',
    says: 'An event that begins, ends or structures the stream is gone, or all content.',
  },
  'boundary-changed': { severity: 'error', says: 'The stream begins or ends with another event.' },
  'usage-vanished': { severity: 'error', says: 'There are no token counts any more.' },
  'names-changed': { severity: 'error', says: 'Events have lost their names, or have got some.' },
  'value-new': {
    severity: 'warning',
    says: '`finish_reason`, `stop_reason` or `status` has a value that the API does not list.',
  },
  'kind-new': { severity: 'warning', says: 'There is an event or an item of a type that the API does not list.' },
  'order-changed': { severity: 'warning', says: 'Events within the stream have another order.' },
  'usage-moved': { severity: 'warning', says: 'The token counts are in another place.' },
  'null-new': { severity: 'warning', says: 'A field that is not in the schema can be null now.' },
  'framing-changed': { severity: 'warning', says: 'Lines end differently, or the last event has no blank line.' },
  'field-new': { severity: 'info', says: 'There is a field that is not in the schema.' },
  'field-missing': { severity: 'info', says: 'A field that the API does not require is absent.' },
  'header-changed': { severity: 'info', says: 'A recorded header is absent, or there is a new one.' },
  'comments-changed': { severity: 'info', says: 'The stream has comment lines now, or has none any more.' },
} as const satisfies Record<string, { severity: DriftSeverity; says: string }>

/** A kind of change. */
export type ChangeKind = keyof typeof CHANGES

/** All kinds of changes. */
export const CHANGE_KINDS = Object.keys(CHANGES) as ChangeKind[]

/** One difference between a recorded response and the one of today. */
export interface Change {
  kind: ChangeKind
  severity: DriftSeverity
  /** The field, event or header. */
  where: string
  /** What it was, and what it is; absent where that says nothing. */
  recorded?: string | undefined
  live?: string | undefined
}
