// Takes the usage out of a stream whose client did not ask for it. Everything else passes as the bytes that came.

type Usage = Record<string, unknown>

const BLANK = /\r?\n\r?\n/g
// Only an event that has this can hold counts, so that all others are passed on unread.
const HINT = /"usage"\s*:\s*\{/

/**
 * Passes a stream of events on, less the extra chunk that only carries usage, which is given to `found`. Events are passed on
 * when they are complete, since only then is it known what they are.
 */
export function withoutUsage(found: (usage: Usage) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let rest = ''
  const keep = (event: string): boolean => {
    if (!HINT.test(event)) return true
    const usage = usageOf(event)
    if (usage) found(usage.counts)
    return !usage?.alone
  }
  return new TransformStream({
    transform(bytes, controller) {
      const text = decoder.decode(bytes, { stream: true })
      if (rest === '' && text.endsWith('\n\n') && !HINT.test(text)) return controller.enqueue(bytes)
      rest += text
      let end = 0
      let passed = ''
      for (const blank of rest.matchAll(BLANK)) {
        const next = blank.index + blank[0].length
        const event = rest.slice(end, next)
        if (keep(event)) passed += event
        end = next
      }
      rest = rest.slice(end)
      if (passed) controller.enqueue(encoder.encode(passed))
    },
    flush(controller) {
      rest += decoder.decode()
      if (rest && keep(rest)) controller.enqueue(encoder.encode(rest))
    },
  })
}

/** The counts in an event, and whether it carries nothing else. */
function usageOf(event: string): { counts: Usage; alone: boolean } | undefined {
  const data = event.replace(/^data: ?/, '')
  try {
    const { usage, choices } = JSON.parse(data) as { usage?: Usage | null; choices?: unknown[] }
    return usage ? { counts: usage, alone: choices?.length === 0 } : undefined
  } catch {
    return undefined
  }
}
