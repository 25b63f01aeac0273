// Server-sent events as router streams write them (WHATWG HTML, section 9.2).

/** One event of a stream: its data as a value, an optional event name, and how many tokens of the answer it carries. */
export interface StreamEvent {
  event?: string
  data: unknown
  /** The data as it came, so that nothing changes on its way through. */
  text?: string
  tokens?: number
}

/** The event as text, ready for the wire. */
export const encodeEvent = ({ event, data, text = JSON.stringify(data) }: StreamEvent): string =>
  `${event ? `event: ${event}\n` : ''}data: ${text.includes('\n') ? text.replaceAll('\n', '\ndata: ') : text}\n\n`

/** The end mark of a router stream. */
export const DONE_EVENT: StreamEvent = { data: undefined, text: '[DONE]' }
