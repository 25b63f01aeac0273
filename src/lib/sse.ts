// Server-sent events as router streams write them (WHATWG HTML, section 9.2).

/** One event of a stream: its data as a value, an optional event name, and how many tokens of the answer it carries. */
export interface StreamEvent {
  event?: string
  data: unknown
  tokens?: number
}

/** The event as text, ready for the wire. */
export const encodeEvent = ({ event, data }: StreamEvent): string =>
  `${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`

/** The end mark of a router stream. */
export const DONE = 'data: [DONE]\n\n'
