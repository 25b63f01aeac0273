// Cuts a text at a stop sequence.

/** The text before its first stop sequence, and that sequence. */
export function beforeStop(text: string, stop: readonly string[]): { text: string; stoppedBy?: string | undefined } {
  return stop.length === 0 ? { text } : beforeFirst(text, stop)
}

function beforeFirst(text: string, stop: readonly string[]): ReturnType<typeof beforeStop> {
  const places = stop
    .filter((sequence) => sequence !== '')
    .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
  const [first] = places.filter(({ at }) => at >= 0).sort((one, other) => one.at - other.at)
  return first ? { text: text.slice(0, first.at), stoppedBy: first.sequence } : { text }
}
