// The published table of changes: how severe each is for programs that were written for the recorded response.

/** How severe a change is. An error breaks clients; a warning may; information is of interest when code is changed. */
type DriftSeverity = (typeof DRIFT_SEVERITIES)[number]
/** The severities, the highest first. */
export const DRIFT_SEVERITIES = ['error', 'warning', 'info'] as const

const error = (says: string) => ({ severity: 'error', says }) as const
const warning = (says: string) => ({ severity: 'warning', says }) as const
const info = (says: string) => ({ severity: 'info', says }) as const

/** The kinds of changes, in the order of the table. */
export const CHANGES = {
  'status-changed': error('The request is refused with another 4xx status than 401, 403, 408 or 429.'),
  'content-type-changed': error('The media type is another one.'),
  'field-vanished': error('A field that the API requires is gone.'),
  'type-changed': error('A field has a JSON type that the API does not allow.'),
  'object-changed': error('`object`, `type` or `role` has a value that the API does not allow.'),
  'event-vanished': error('An event that begins, ends or structures the stream is gone, or all content.'),
  'boundary-changed': error('The stream begins or ends with another event.'),
  'usage-vanished': error('There are no token counts any more.'),
  'names-changed': error('Events have lost their names, or have got some.'),
  'value-new': warning('`finish_reason`, `stop_reason` or `status` has a value that the API does not list.'),
  'kind-new': warning('There is an event or an item of a type that the API does not list.'),
  'order-changed': warning('Events within the stream have another order.'),
  'usage-moved': warning('The token counts are in another place.'),
  'null-new': warning('A field that is not in the schema can be null now.'),
  'framing-changed': warning('Lines end differently, or the last event has no blank line.'),
  'field-new': info('There is a field that is not in the schema.'),
  'field-missing': info('A field that the API does not require is absent.'),
  'header-changed': info('A recorded header is absent, or there is a new one.'),
  'comments-changed': info('The stream has comment lines now, or has none any more.'),
}

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
