// Finds secrets in untrusted texts, such as headers, URLs and settings that errors quote.

/** Replaces a secret. */
export const MASK = '(masked)'

/** Parts of the names of secrets, and short names, which also occur in other words. */
const SECRET_NAME =
  /auth|cookie|token|secret|passw|passphrase|pwd|credential|signature|session-?(?:id|key)|api[-_]?key|access[-_]?key|private|jwt|bearer/
const SECRET_WORD = /key|sig|sas|pw|pass|code|otp|pin|x-key/

/**
 * Keys with a recognizable prefix: those of OpenAI and Anthropic (`sk-`) and similar ones, AWS, GitHub, GitLab, Google,
 * Slack, Hugging Face, Groq, xAI, Perplexity, SendGrid, Vault, PyPI, npm and the like; JSON Web Tokens.
 */
const KNOWN_KEY = new RegExp(
  `(?<![A-Za-z0-9])(?:${[
    /sk[-_][\w-]{6,}/,
    /(?:pk|rk|ak|ek|whsec|api|key)[-_](?=[\w-]*\d)[\w-]{16,}/,
    /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}/,
    /(?:gh[a-z]|github_pat|hf|gsk|fw|r8|tgp_v1|npm|ntn|figd|sbp|shpat|phc|glsa|dop_v1)_\w{10,}/,
    /(?:gl[a-z]{2,5}|xai|pplx|nvapi|xox[a-z]|xapp|pypi|GOCSPX)-[\w-]{8,}/,
    /AIza[\w-]{10,}|(?:ya29|SG|hv[sb])\.[\w.-]{10,}|dapi[0-9a-f]{16,}/,
    /eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*/,
  ]
    .map(({ source }) => source)
    .join('|')})`,
  'g',
)

/** `Bearer abc`, `Basic abc`, as errors and logs repeat them. */
const SCHEME = /\b(Bearer|Basic|Token|ApiKey)(\s+)(?!\(masked\))[^\s"',;)]+/gi
/** `api_key=abc`, `"token": "abc"`, `password: abc`. */
const NAMED = new RegExp(
  `((?<![\\w-])(?:[\\w-]{0,40}(?:${SECRET_NAME.source})[\\w-]{0,40}|(?:${SECRET_WORD.source})))(["']?\\s{0,8}[=:]\\s{0,8}["']?)(?!\\(masked\\)|//)[^\\s"',;&)}\\]]+`,
  'gi',
)
/** The user and password of a URL. */
const USER_INFO = /((?:\b[a-z][a-z0-9+.-]{0,20}:)?\/\/)[^\s/?#"'<>]*@/gi
/** Text that looks random: letters and digits mixed, or very long. */
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const WORD = /[A-Za-z0-9+_=-]{16,}/g

/** A text with recognizable secrets masked: known kinds of keys, named ones, those in URLs. */
export const withoutSecrets = (text: string): string => maskedText(text, () => false)

/** Masks secrets, except named values of which `isPlain` says that they are none. */
function maskedText(text: string, isPlain: (name: string, value: string) => boolean): string {
  return text
    .replace(USER_INFO, `$1${MASK}@`)
    .replace(SCHEME, `$1$2${MASK}`)
    .replace(NAMED, (whole: string, name: string, between: string) =>
      isPlain(name, whole.slice(name.length + between.length)) ? whole : `${name}${between}${MASK}`,
    )
    .replace(KNOWN_KEY, MASK)
}

/** Names whose values are secrets whatever they look like. */
const ALWAYS_SECRET = /passw|pwd|secret|pin$|otp$/i
/** Whether a named value in the output of a program is none: counts of tokens, codes of errors. */
const isPlainOutput = (name: string, value: string): boolean =>
  !ALWAYS_SECRET.test(name) &&
  (/^[-+]?\d{1,9}(?:\.\d+)?$/.test(value) || (/code$/i.test(name) && /^[A-Za-z_]+$/.test(value)))

/** Variables whose values are secrets, and the shortest of them that is one. */
const SECRET_VARIABLE = /key|token|secret|passw|credential/i
const MIN_VALUE = 8

/**
 * Masks recognizable secrets in the output of a program, the values of variables that are named like secrets, and `more`
 * values. Paths are none, nor are numbers and codes of errors.
 * @example
 * secretsHider({ STRIPE_KEY: 'opaque-value' })('pay with opaque-value') // => 'pay with (masked)'
 * secretsHider({})('code: ENOENT, tokens: 12, api_key: abc1') // => 'code: ENOENT, tokens: 12, api_key: (masked)'
 */
export function secretsHider(
  environment: Readonly<Record<string, string | undefined>>,
  more: readonly string[] = [],
): (text: string) => string {
  const own = Object.entries(environment).flatMap(([name, value = '']) =>
    SECRET_VARIABLE.test(name) && !/^[./~]/.test(value) ? [value] : [],
  )
  const values = [...own, ...more].filter(({ length }) => length >= MIN_VALUE)
  // Of two values of which one contains the other, the longer one is masked whole.
  values.sort((one, other) => other.length - one.length)
  return (text) =>
    maskedText(
      values.reduce((rest, value) => rest.replaceAll(value, MASK), text),
      isPlainOutput,
    )
}

/** A text with the secrets of its URLs masked: their users, and named parameters. */
export const withoutAddressSecrets = (text: string): string =>
  text.replace(USER_INFO, `$1${MASK}@`).replace(PARAMETER, `$1${MASK}`)
const PARAMETER = new RegExp(
  `([?&][\\w-]{0,40}(?:${SECRET_NAME.source}|(?<=[?&])(?:${SECRET_WORD.source})(?==))[\\w-]{0,40}=)[^&#\\s]+`,
  'gi',
)

/** The same without anything that looks random, for texts in which random parts are not needed. */
export const withoutRandom = (text: string): string =>
  withoutSecrets(text)
    .replace(UUID, MASK)
    .replace(WORD, (word) => (looksRandom(word) ? MASK : word))

/** Whether a part of a word alternates letters and digits, as keys do and names do not. */
const looksRandom = (word: string): boolean =>
  word.split(/[-_=+]/).some((part) => part.length >= 12 && changesOf(part) >= 3) ||
  (word.length >= 32 && /\d/.test(word))

/** How often letters and digits alternate. */
const changesOf = (text: string): number => (text.match(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g) ?? []).length

/** Query parameters that are shown. Of all others, only the name is shown. */
const SHOWN_PARAMETERS = new Set([
  ...['beta', 'api-version', 'version', 'stream', 'model', 'format', 'alt', 'timeout'],
  ...['limit', 'offset', 'page', 'page_size', 'per_page', 'order', 'sort'],
])

/** A path with its query (or the query of a URL): allowed parameters are shown unchanged, of others only the name. */
export function shownQuery(address: string): string {
  const at = address.indexOf('?')
  if (at < 0) return address
  const [query = '', ...fragment] = address.slice(at + 1).split('#')
  const shown = query.split('&').map((part) => {
    const [name = '', ...value] = part.split('=')
    const isShown = SHOWN_PARAMETERS.has(name)
    if (value.length === 0) return isShown || name === '' ? part : MASK
    if (value.join('=') === '') return part
    return `${name}=${isShown ? withoutRandom(value.join('=')) : MASK}`
  })
  return `${address.slice(0, at)}?${shown.join('&')}${fragment.length > 0 ? `#${MASK}` : ''}`
}

/** A URL without its user, its secrets and its fragment, which may contain a key. */
export function shownUrl(address: string): string {
  const [withoutFragment = ''] = address.split('#')
  const at = withoutFragment.indexOf('?')
  const path = at < 0 ? withoutFragment : withoutFragment.slice(0, at)
  const fragment = withoutFragment.length < address.length ? `#${MASK}` : ''
  return `${withoutRandom(path)}${at < 0 ? '' : shownQuery(withoutFragment.slice(at))}${fragment}`
}

/**
 * A text that should be a URL and may be invalid, without its secrets: anything before an `@` may be a password,
 * anything after a `?` a key.
 */
export const shownAddress = (text: string): string =>
  shownUrl(text.replace(/^((?:[a-z][a-z0-9+.-]*:)?\/*).*@/is, `$1${MASK}@`))
