// Converts patterns to unicode mode: schemas are written for many engines.

/** Escapes that other engines allow before any sign (`\-`, `\_`). */
const NEEDLESS = /[-!"#%&',:;<=>@`~_ ]/
/** Tokens: escapes, classes, counts, then single signs. */
const TOKENS = /\\(?:[pPu]\{[^}]*\}|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|[\s\S]/g
/** Escapes that mean the letter or digit itself in the older mode, and are invalid in the newer one. */
const LETTERS = /[aeg-jlmoqyzACE-OQRTUVXYZ89]/

/**
 * The pattern in unicode mode, which JSON Schema requires. What only the older mode accepts (`[\w-.]`, `a{`, `]`) is
 * rewritten.
 * @throws SyntaxError if neither mode accepts it
 */
export function readPattern(pattern: string): string {
  const relaxed = pattern.replace(/\\([\s\S])/g, (escaped, sign: string) =>
    NEEDLESS.test(sign) ? `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}` : escaped,
  )
  try {
    new RegExp(relaxed, 'u')
    return relaxed
  } catch (error) {
    const modern = relaxed.replace(TOKENS, modernToken)
    try {
      new RegExp(modern, 'u')
      return modern
    } catch {
      throw error
    }
  }
}

function modernToken(token: string): string {
  if (token === '{' || token === '}' || token === ']') return `\\${token}`
  if (token.length === 1) return token
  // A hyphen next to a class of characters means itself.
  const hyphens = token.startsWith('[')
    ? token.replace(/(\\[dswDSW])-(?!\])/g, '$1\\-').replace(/(?<!^\[)-(?=\\[dswDSW])/g, '\\-')
    : token
  return hyphens.replace(/\\([\s\S])/g, (escaped, sign: string) => (LETTERS.test(sign) ? sign : escaped))
}
