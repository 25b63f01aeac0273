// Personal data in texts. Findings name its kind and never quote it. Recognized data is removed before the next kind is
// searched, so that the digits of an IBAN are not also a telephone number.
import type { BuiltIn } from './define.ts'
import { type Detector, patternDetectors, type Span } from './pii-patterns.ts'
import { namesIn, phoneNumbersIn } from './pii-words.ts'

const DETECTORS: readonly Detector[] = [
  ...patternDetectors,
  { kind: 'a telephone number', find: phoneNumbersIn },
  { kind: "a person's name", find: namesIn },
]

/** The text with a line break in place of each span; spans are in order. */
function without(text: string, spans: readonly Span[]): string {
  let end = 0
  const parts = spans.map((span) => {
    const before = text.slice(end, span.start)
    end = Math.max(end, span.end)
    return `${before}_`
  })
  return `${parts.join('')}${text.slice(end)}`
}

/** The built-in guardrail `svc_pii_detection`: names the kinds of personal data in texts, never their values. */
export const piiDetection: BuiltIn = {
  name: 'pii_detection',
  async check(texts) {
    const kinds = new Set<string>()
    for (const text of texts) {
      let rest = text
      for (const { kind, find } of DETECTORS) {
        const spans = find(rest)
        if (spans.length > 0) kinds.add(kind)
        rest = without(rest, spans)
      }
    }
    const found = DETECTORS.map(({ kind }) => kind).filter(
      (kind, index, all) => kinds.has(kind) && all.indexOf(kind) === index,
    )
    return found.length === 0 ? null : `it contains ${found.join(', ')}`
  },
}
