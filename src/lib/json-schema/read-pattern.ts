// Patterns as the unicode mode takes them: schemas are written for many engines.
import { lazy } from '../lazy.ts'

// Large, and most patterns need none of it.
const parser = lazy<typeof import('@eslint-community/regexpp')>(() => require('@eslint-community/regexpp'))

/** Escapes that other engines allow before any sign (`\-`, `\_`). */
const NEEDLESS = /[-!"#%&',:;<=>@`~_ ]/

/**
 * The pattern in the unicode mode, in which JSON Schema has it; what only the older mode reads (`[\w-.]`, `a{`, `]`) is put
 * into words of the newer one.
 * @throws SyntaxError when neither reads it
 */
export function readPattern(pattern: string): string {
  const relaxed = pattern.replace(/\\([\s\S])/g, (escaped, sign: string) =>
    NEEDLESS.test(sign) ? `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}` : escaped,
  )
  try {
    new RegExp(relaxed, 'u')
    return relaxed
  } catch (error) {
    const modern = modernized(pattern)
    if (modern === undefined) throw error
    return modern
  }
}

/** Signs that mean themselves in every mode. */
const PLAIN = /^[A-Za-z0-9 ]$/
const FIRST_FOREIGN = 0x80

function modernized(pattern: string): string | undefined {
  try {
    const { RegExpParser, visitRegExpAST } = parser()
    const tree = new RegExpParser({ strict: false }).parsePattern(pattern, undefined, undefined, { unicode: false })
    let text = ''
    let at = 0
    visitRegExpAST(tree, {
      onCharacterEnter({ start, end, value, raw }) {
        if (value >= FIRST_FOREIGN || PLAIN.test(raw)) return
        text += `${pattern.slice(at, start)}\\x${value.toString(16).padStart(2, '0')}`
        at = end
      },
    })
    text += pattern.slice(at)
    new RegExp(text, 'u')
    return text
  } catch {
    return undefined
  }
}
