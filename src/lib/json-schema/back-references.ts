// Regular expressions without back references, which no automaton can follow.
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'

/**
 * A back reference read as its group once more, and what must not follow left out when it refers back: too wide, but what
 * comes out is tried with the real expression.
 */
export function withoutBackReferences(source: string): string {
  const pattern = new RegExpParser().parsePattern(source, undefined, undefined, { unicode: true })
  const found: { start: number; end: number; instead: string }[] = []
  visitRegExpAST(pattern, {
    onBackreferenceEnter(reference) {
      const group = [reference.resolved].flat()[0]
      const body = group?.raw.replace(/^\((?:\?<[^>]*>)?/, '(?:') ?? '(?:)'
      const refused = negationAround(reference)
      found.push(refused ? { ...refused, instead: '(?:)' } : { ...reference, instead: body })
    },
  })
  let from = Number.POSITIVE_INFINITY
  let text = source
  for (const { start, end, instead } of found.sort((a, b) => b.start - a.start || b.end - a.end)) {
    if (end > from) continue
    text = text.slice(0, start) + instead + text.slice(end)
    from = start
  }
  return text
}

function negationAround(node: AST.Node): { start: number; end: number } | undefined {
  let found: { start: number; end: number } | undefined
  for (let at: AST.Node | null = node; at; at = at.parent) {
    if (at.type === 'Assertion' && 'negate' in at && at.kind !== 'word' && at.negate) found = at
  }
  return found
}
