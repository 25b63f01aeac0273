// Outcomes as text.

/**
 * The text of an outcome of a call, an attempt or a step: `timed out`, `HTTP error`.
 * @example
 * outcomeText('http_error') // => 'HTTP error'
 */
export const outcomeText = (outcome: string): string => outcome.replace('http', 'HTTP').replaceAll('_', ' ')
