// Finds secrets in untrusted texts, such as headers, URLs and settings that errors quote, and the texts of recorded calls.

/** Replaces a secret. */
export const MASK = '(masked)'

/** Parts of the names of secrets, and short names, which also occur in other words. */
const SECRET_NAME =
  /auth|cookie|token|secret|passw|passphrase|pwd|credential|signature|session-?(?:id|key)|api[-_]?key|access[-_]?key|private|jwt|bearer/
const SECRET_WORD = /key|sig|sas|pw|pass|code|otp|pin|x-key/

/**
 * Keys with a recognizable form, by kind, the most specific first. The prefixes are those that the providers document for their scanners.
 */
export const KEY_FORMS: readonly (readonly [kind: string, form: RegExp])[] = [
  ['anthropic-key', /sk-ant-[\w-]{6,}/],
  ['openrouter-key', /sk-or-[\w-]{6,}/],
  ['langfuse-key', /[sp]k-lf-[\w-]{8,}/],
  ['openai-key', /(?:sk-(?:proj|svcacct|admin|None)-[\w-]{6,}|sk-\w{10,}T3BlbkFJ[\w-]{4,}|sess-\w{20,})/],
  ['stripe-key', /(?:[srp]k_(?:live|test|prod)_\w{8,}|whsec_[\w+/=]{16,})/],
  ['api-key', /sk[-_][\w-]{6,}/],
  ['api-key', /(?:pk|rk|ak|ek|whsec|api|key)[-_](?=[\w-]*\d)[\w-]{16,}/],
  ['aws-key-id', /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}/],
  ['aws-key', /ABSK[\w+/=-]{40,}|bedrock-api-key-[\w+/=-]{20,}/],
  // Tokens of GitHub apps contain a JSON Web Token.
  ['github-token', /gh[a-z]_[\w-]{10,}(?:\.[\w-]+){0,2}|github_pat_\w{10,}/],
  ['huggingface-token', /hf_\w{10,}|api_org_\w{20,}/],
  ['groq-key', /gsk_\w{10,}/],
  ['fireworks-key', /fw_\w{10,}/],
  ['replicate-token', /r8_\w{10,}/],
  ['azure-key', /[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27}/],
  ['together-key', /tgp_v1_[\w-]{10,}/],
  ['xai-key', /xai-[\w-]{8,}/],
  ['perplexity-key', /pplx-[\w-]{8,}/],
  ['nvidia-key', /nvapi-[\w-]{8,}/],
  ['cerebras-key', /csk-\w{16,}/],
  ['tavily-key', /tvly-[\w-]{16,}/],
  ['firecrawl-key', /fc-[0-9a-f]{32}/],
  ['e2b-key', /e2b_[0-9a-f]{40}/],
  ['resend-key', /re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}/],
  ['pinecone-key', /pcsk_\w{16,}/],
  ['langsmith-key', /lsv2_[ps][kt]_\w{16,}/],
  ['voyage-key', /(?:pa|al)-[\w-]{40,}/],
  ['npm-token', /npm_\w{10,}/],
  ['notion-token', /ntn_\w{10,}|secret_\w{43}(?!\w)/],
  ['figma-token', /figd_[\w-]{10,}/],
  ['supabase-key', /sb[ps]_\w{10,}|sb_(?:secret|publishable)_[\w-]{10,}/],
  ['shopify-key', /shp[a-z]{2}_\w{10,}/],
  ['posthog-key', /ph[cx]_\w{10,}/],
  ['grafana-token', /gl(?:sa|c)_[\w+/=]{10,}/],
  ['digitalocean-token', /do[opr]_v1_\w{10,}/],
  ['gitlab-token', /(?:gl[a-z]{2,5}-|GR1348941)[\w-]{8,}(?:\.[\w.-]+)?/],
  ['slack-token', /(?:xox[a-z]|xapp|xoxe\.xox[bp])-[\w-]{8,}/],
  ['pypi-token', /pypi-[\w-]{8,}/],
  ['google-client-secret', /GOCSPX-[\w-]{8,}/],
  ['google-key', /AIza[\w-]{10,}|AQ\.Ab[\w-]{20,}/],
  ['google-token', /ya29\.[\w.-]{10,}/],
  ['sendgrid-key', /SG\.[\w.-]{10,}/],
  ['vault-token', /hv[sbr]\.[\w.-]{10,}/],
  ['databricks-token', /dapi[0-9a-f]{16,}(?:-\d)?/],
  ['linear-key', /lin_(?:api|oauth)_\w{16,}/],
  ['docker-token', /dckr_(?:pat|oat)_[\w-]{16,}/],
  ['vercel-token', /vc[pcairk]_\w{16,}/],
  ['cloudflare-token', /cf(?:k|ut|at)_\w{16,}/],
  ['tailscale-key', /tskey-[\w-]{16,}/],
  ['sentry-token', /sntry[su]_[\w+/=-]{16,}/],
  ['doppler-token', /dp\.[a-z]{2,5}\.[\w.-]{16,}/],
  ['atlassian-token', /AT[AC]TT3[\w=-]{16,}/],
  ['airtable-token', /pat\w{14}\.[0-9a-f]{32,}/],
  ['hubspot-token', /pat-(?:na|eu)\d-[0-9a-f-]{16,}/],
  ['newrelic-key', /NR(?:AK|II|AL)-[\w-]{16,}/],
  ['postman-key', /PMAK-[\w-]{16,}/],
  ['netlify-token', /nfp_\w{16,}/],
  ['planetscale-token', /pscale_(?:tkn|pw|oauth)_[\w.=-]{16,}/],
  ['rubygems-key', /rubygems_\w{16,}/],
  ['terraform-token', /\w{14}\.atlasv1\.[\w-]{20,}/],
  ['mailgun-key', /key-[0-9a-f]{32}/],
  ['mailchimp-key', /[0-9a-f]{32}-us\d{1,2}/],
  ['twilio-key', /(?:SK|AC)[0-9a-f]{32}(?!\w)/],
  ['square-token', /sq0[a-z]{3}-[\w-]{16,}|EAAA[\w-]{40,}/],
  ['facebook-token', /EAA[A-Z]\w{40,}/],
  ['telegram-token', /\d{8,10}:AA[\w-]{32,}/],
  ['discord-token', /[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/],
  ['age-key', /AGE-SECRET-KEY-1\w{40,}/],
  ['onepassword-token', /ops_eyJ[\w+/=-]{16,}/],
  // JSON Web Tokens, also with a missing signature.
  ['jwt', /eyJ[\w-]{5,}\.[\w-][\w.-]*/],
]
const anyOf = (forms: readonly RegExp[]) =>
  new RegExp(`(?<![A-Za-z0-9])(?:${forms.map(({ source }) => source).join('|')})`, 'g')

/** All of them. */
const KNOWN_KEY = anyOf(KEY_FORMS.map(([, form]) => form))

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

/** A secret in a text; the end is exclusive. */
export interface SecretFound {
  start: number
  end: number
  /** What it is, such as `github-token` or `password`. */
  kind: string
}

/** Takes the place of what is found, for the searches that follow. No pattern matches it. */
const TAKEN = '\0'

/**
 * The secrets in a text that people or models wrote, each with its kind, in order. Unlike `withoutSecrets`, which masks whatever may be one,
 * it takes a named value only if it looks like a secret: `password: must be long` names none.
 * @example
 * secretsIn('use ghp_abcdefghij0123456789').map(({ kind }) => kind) // => ['github-token']
 */
export function secretsIn(text: string): SecretFound[] {
  const found: SecretFound[] = []
  let rest = text
  for (const find of SEARCHES) {
    const spans = find(rest).map((span) => withoutSentenceEnd(span, text))
    if (spans.length === 0) continue
    found.push(...spans)
    rest = withoutSpans(rest, spans)
  }
  return found.sort((one, other) => one.start - other.start)
}

/** The end of a sentence or of bold text: a secret without quotation marks would become another value with it. */
const SENTENCE_END = '.?:*'

function withoutSentenceEnd(span: SecretFound, text: string): SecretFound {
  if (span.end < text.length && !/\s/.test(text[span.end] ?? '')) return span
  let { end } = span
  while (end > span.start + 1 && SENTENCE_END.includes(text[end - 1] ?? '')) end--
  return { ...span, end }
}

/** A text of the same length in which ranges, which are in order, are taken: the searches that follow find nothing there. */
export function withoutSpans(text: string, spans: readonly Pick<SecretFound, 'start' | 'end'>[]): string {
  let from = 0
  const parts: string[] = []
  for (const { start, end } of spans) {
    if (end <= from) continue
    parts.push(text.slice(from, Math.max(start, from)), TAKEN.repeat(end - Math.max(start, from)))
    from = end
  }
  return parts.join('') + text.slice(from)
}

const classified = KEY_FORMS.map(([kind, { source }]) => [kind, new RegExp(`^(?:${source})`)] as const)

/** The kind of a key by its form; undefined if the form is not known. */
export const keyKind = (key: string): string | undefined => classified.find(([, form]) => form.test(key))?.[0]

/** Names of programs, functions and models begin so, too: `sk-learn`, `hf_hub_download`, `npm_config_registry`, `pplx-7b-online`. */
const isWord = (key: string) =>
  /^(?:sk|pa|al)[-_][a-z-]{0,20}$|^(?:sk|hf|npm|fw|gsk|secret|xai|pplx)(?:[-_](?:v?\d{1,2}[a-z]?|[a-z]{2,14}\d?)){2,}$/.test(
    key,
  )

const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const PEM_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const PEM_BODY = /[A-Za-z0-9+/=\s\\:,.()-]/
/** A key of 16,384 bits, with line breaks that are escaped. */
const MAX_PEM_LENGTH = 20_000

/** Private keys in PEM (RFC 7468), also truncated ones. */
function privateKeysIn(text: string): SecretFound[] {
  if (!text.includes('PRIVATE KEY')) return []
  const found: SecretFound[] = []
  PEM_BEGIN.lastIndex = 0
  for (let begin = PEM_BEGIN.exec(text); begin; begin = PEM_BEGIN.exec(text)) {
    const body = PEM_BEGIN.lastIndex
    const dashes = text.indexOf('-----', body)
    const end = dashes < 0 ? text.length : dashes
    PEM_END.lastIndex = end
    let last = end - body <= MAX_PEM_LENGTH && PEM_END.test(text) ? PEM_END.lastIndex : body
    if (last === body) while (last < end && last - body < MAX_PEM_LENGTH && PEM_BODY.test(text[last] ?? '')) last++
    found.push({ start: begin.index, end: last, kind: 'private-key' })
    PEM_BEGIN.lastIndex = last
  }
  return found
}

function knownKeysIn(text: string): SecretFound[] {
  const found: SecretFound[] = []
  for (const { 0: key, index } of text.matchAll(KNOWN_KEY))
    if (!isWord(key)) found.push({ start: index, end: index + key.length, kind: keyKind(key) ?? 'api-key' })
  return found
}

/** A search for the first group of a pattern that is global and has the flag `d`. */
const search =
  (kind: string, pattern: RegExp, mark: string, accepts: (value: string) => boolean = () => true) =>
  (text: string): SecretFound[] => {
    if (!text.includes(mark)) return []
    const found: SecretFound[] = []
    for (const { 1: value = '', indices } of text.matchAll(pattern)) {
      const [start, end] = indices?.[1] ?? [0, 0]
      if (accepts(value)) found.push({ start, end, kind })
    }
    return found
  }

/** Whether a text is a user and a password in base64 (RFC 7617). */
const isBasic = (value: string) =>
  /^[A-Za-z0-9+/]{6,1024}={0,2}$/.test(value) &&
  /^[\x20-\x7e]+:[\x20-\x7e]*$/.test(Buffer.from(value, 'base64').toString('latin1'))
const hasDigit = (value: string) => /\d/.test(value)

/** Values that stand for a secret: variables, templates, placeholders, what a schema says. */
const STAND_IN =
  /^(?:[$%]?\{|\$[A-Za-z_(]|%\w+%$|<|\[|\*|\.\.\.|x{3,}$|(?:null|none|nil|undefined|true|false|string|number|redacted|masked|secret|password|required|optional|empty)$|(?:your|my)[-_ ]|(?:process|os|config|settings|secrets|args|self|this|import\.meta|std)\??[.:[]|env[.[(])/i

/** Whether a value under the name of a secret can be one. */
const mayBeSecret = (value: string): boolean => {
  const bare = value.trim()
  return bare !== '' && !bare.includes(TAKEN) && !STAND_IN.test(bare)
}

/** Names of secrets, with words separated by `_`: the end of a name decides. */
export const NAMES_OF_SECRETS: readonly (readonly [kind: string, name: string])[] = [
  [
    'password',
    '(?:[a-z]*(?:password|passwd|passphrase)|passcode|pwd|passwort|wachtwoord)s?(?:_(?:confirmation|again))?|(?:db|database|sql|pg|postgres|redis|mongo|smtp|imap|e?mail|s?ftp|ssh|http|proxy|user|admin|root|login|auth)_pass',
  ],
  [
    'api-key',
    '(?:[a-z]*api|access|secret|private|signing|encryption|account|subscription|license|auth|master|shared|secret_access|app)_?key(?:_id|_base)?s?',
  ],
  ['secret', '(?:(?:client|app|api)_?secret|secret|credentials?|connection_?string)s?'],
  [
    'token',
    '(?:access|refresh|auth|id|session|bot|api|bearer|csrf|xsrf|security|oauth|jwt|device|service)_?tokens?|(?:proxy_)?authorization',
  ],
  ['cookie', '(?:set_)?cookies?'],
  ['pin', 'pin|pin_?code|cvv2?|cvc2?|otp|one_?time_(?:code|password)|security_?code|mfa_?code'],
  ['ssn', 'ssn|social_security(?:_number)?'],
]
const NAME_KINDS = NAMES_OF_SECRETS.map(([kind, name]) => [kind, new RegExp(`(?:^|_)(?:${name})$`)] as const)
/** Names of secrets and of much else: the value decides. */
const AMBIGUOUS =
  /(?:^|_)(?:token|(?<!(?:cache|sort|partition|primary|foreign|idempotency|public|dedup|group)_)key|auth|jwt|bearer|pass)$/

/** Names of telephone numbers, and what such a number looks like. */
const PHONE_NAME = /(?:^|_)(?:(?:tele)?phone|mobile|tel|fax|whatsapp|msisdn)(?:_?(?:number|no))?$/
const PHONE_VALUE = /^[+(]?\d(?:[-. ()/\u00a0\u2009\u202f\u2010-\u2015\u2212]{0,3}\d){6,14}$/

/** The words of a name, separated by `_`: `apiKey`, `api-key` and `API_KEY` are the same. */
const wordsOf = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[\s.-]+/g, '_')

/**
 * The kind of secret that a name promises for a value; undefined if the value need not be a secret.
 * @example
 * namedSecret('clientSecret', 'abc') // => 'secret'
 * namedSecret('total_tokens', '35') // => undefined
 */
export function namedSecret(name: string, value: string): string | undefined {
  const kind = kindOfName(name)
  if (kind === '' || !mayBeSecret(value)) return undefined
  if (kind === PHONE) return PHONE_VALUE.test(value.trim()) ? kind : undefined
  if (kind !== 'ambiguous') return kind
  return value.length <= MAX_TOKEN_LENGTH && !/\s/.test(value) && (looksRandom(value) || isBasic(value))
    ? 'token'
    : undefined
}
const PHONE = 'phone'
/** The number behind a name of which there are several: `password2`, `API_KEY_1`. `Auth0` is a company. */
const NAME_NUMBER = /(?<!auth)[_-]?\d{1,3}$/i
const MAX_NAME_LENGTH = 80
const MAX_TOKEN_LENGTH = 4_096

/** Whether `namedSecret` may find a secret under a name. */
export const mayNameSecret = (name: string): boolean => kindOfName(name) !== ''

// By name: bodies repeat few names. Without it, a stream of 41 events takes twice as long.
const nameKinds = new Map<string, string>()
const MAX_NAME_KINDS = 500

/** The kind of secret that a name promises; empty if there is none. */
function kindOfName(name: string): string {
  if (name.length > MAX_NAME_LENGTH) return ''
  const cached = nameKinds.get(name)
  if (cached !== undefined) return cached
  const kind = kindOfWords(wordsOf(name)) || kindOfNumbered(name)
  if (nameKinds.size >= MAX_NAME_KINDS) nameKinds.clear()
  nameKinds.set(name, kind)
  return kind
}

function kindOfWords(words: string): string {
  const found = NAME_KINDS.find(([, form]) => form.test(words))?.[0]
  return found ?? (AMBIGUOUS.test(words) ? 'ambiguous' : PHONE_NAME.test(words) ? PHONE : '')
}

/** The kind of a name with a number behind it. Numbered pins are those of a circuit. */
function kindOfNumbered(name: string): string {
  if (!NAME_NUMBER.test(name)) return ''
  const kind = kindOfWords(wordsOf(name.replace(NAME_NUMBER, '')))
  return kind === 'pin' ? '' : kind
}

/** Query parameters whose values are always secret. */
const SECRET_PARAMETER =
  /^(?:key|sig|signature|sas|token|auth|pass|pw|pwd|code|jwt|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|awsaccesskeyid)$/i
/** The kind of secret in a parameter of a URL; undefined if there is none. */
export const secretParameter = (name: string, value: string): string | undefined =>
  namedSecret(name, value) ?? (SECRET_PARAMETER.test(name) && mayBeSecret(value) ? 'token' : undefined)

/**
 * `api_key=abc`, `"password": "abc"`, `Password: hunter2`. The name is at most 40 characters before its last word. A quotation mark that is escaped
 * is closed by one behind as many backslashes: inside a text, JSON may contain JSON. A name may be bold, with its colon or without. What ends a value
 * elsewhere is a part of it where a word without another name follows: `password: Tr0ub4dor&3`.
 */
const ASSIGNED =
  /(?<![\w-])([\w-]{0,40}(?:passw(?:or)?d|passphrase|passcode|pwd|pass|passwort|wachtwoord|secret|credential|connectionstring|key|key_?id|key_base|token|authorization|cookie)(?:_confirmation|_again)?(?:[_-]?\d{1,3})?)\\{0,8}["'`]?(?:\](?=\s{0,8}=)|\*\*)?\s{0,8}(:=|=>|[=:])(?:\*\*)?\s{0,8}(?:(["'`])((?:(?!\3)[^\\\n\0]|\\[^\n]){1,512})|(\\{1,8}["'`])((?:(?!\5)(?:[^\\\n\0]|\\{1,256}[^\\\n\0])){1,512})|((?:[^\s"'`,;&)}\]<>\0\\]|[&)}\]](?=[\w!@#$%^*?+~-][^\s"'`=:,;<>\0\\]{0,64}(?!\S))){1,4096}))/dgi
/** The groups of its values: in quotation marks, in escaped ones, and without. */
const BARE = 7
const VALUES = [4, 6, BARE]

function assignedIn(text: string): SecretFound[] {
  if (!text.includes('=') && !text.includes(':')) return []
  const found: SecretFound[] = []
  ASSIGNED.lastIndex = 0
  for (let match = ASSIGNED.exec(text); match; match = ASSIGNED.exec(text)) {
    const { 1: name = '', 2: sign, indices } = match
    const group = VALUES.find((one) => match[one] !== undefined) ?? BARE
    const value = match[group] ?? ''
    const kind = namedSecret(name, value)
    const [start, end] = indices?.[group] ?? [0, 0]
    // After a colon, a word of a sentence may follow.
    const isSentence = group === BARE && sign === ':' && /^[A-Za-z]?[a-z]*[.!?]*$/.test(value)
    if (kind !== undefined && !isSentence) found.push({ start, end, kind })
    // What looks like a value may be the name of another one: `key=password: hunter2`.
    else if (value.endsWith(':')) ASSIGNED.lastIndex = start
  }
  return found
}

/** `the password is hunter2`, and `password2 is hunter2`. Numbered pins are those of a circuit. */
const SPOKEN =
  /\b(?:(?:password|passphrase|passcode|passwort|wachtwoord|secret|secret key|api key|access key|token)(?:[_-]?\d{1,3})?|pin|pin code)\s{1,4}(?:is|was|ist):?\s{1,4}(?:now\s{1,4})?["'`]?([^\s"'`,;<>\0]{4,256})/dgi

/** A value of SQL in quotation marks, of which one inside is doubled or escaped, or in escaped ones: the first four groups of its pattern. */
const QUOTED_VALUE = String.raw`(["'\u0060])((?:(?!\1)[^\\\n\0]|\\[^\n]|\1\1){1,512})|(\\{1,8}["'\u0060])((?:(?!\3)(?:[^\\\n\0]|\\{1,256}[^\\\n\0])){1,512})`
/** The groups of its values. */
const QUOTED = [2, 4]
/** A value of Oracle, which needs no quotation marks. The fifth group. */
const BARE_VALUE = String.raw`([^\s"'\u0060,;()\\\0]{1,512})`
const SQL_BARE = 5

/** `IDENTIFIED BY 'x'` of SQL, also with the name of a plugin, or a hash in place of the password. */
const IDENTIFIED = new RegExp(
  String.raw`\bIDENTIFIED\s{1,4}(?:(?:WITH|VIA)\s{1,4}[^\s\0]{1,64}\s{1,4}(?:BY|AS|USING)|BY)\s{1,4}(?:(?:PASSWORD|VALUES)\s{1,4})?(?:${QUOTED_VALUE}|(?!RANDOM\b)${BARE_VALUE})`,
  'dgi',
)
/** The old password behind the new one. */
const REPLACED = new RegExp(String.raw`\\{0,8}["'\u0060]?\s{1,4}REPLACE\s{1,4}(?:${QUOTED_VALUE}|${BARE_VALUE})`, 'diy')
/** `CREATE ROLE joe WITH LOGIN PASSWORD 'x'` of PostgreSQL, or the end of it. */
const ROLE_PASSWORD = new RegExp(
  String.raw`(?:\b(?:create|alter)\s{1,4}(?:user|role)\s{1,4}[^\s\0]{1,128}(?:\s{1,4}(?:with|(?:un)?encrypted|(?:no)?(?:login|superuser|createdb|createrole|inherit|replication|bypassrls)|connection\s{1,4}limit\s{1,4}-?\d{1,9}|valid\s{1,4}until\s{1,4}\\{0,8}["'][^"'\\\0]{1,64}\\{0,8}["']|(?:in\s{1,4})?(?:role|group)\s{1,4}[^\s\0]{1,64})){0,12}|\bwith)\s{1,4}password\s{1,4}(?:${QUOTED_VALUE})`,
  'dgi',
)
/** What stands before it in a statement: the user. In a sentence, something may be identified by a field, too. */
const SQL_USER =
  /\b(?:create|alter)\s{1,4}(?:user|role)\s{1,4}(?:if\s{1,4}(?:not\s{1,4})?exists\s{1,4})?\S{1,128}\s{1,4}$|\bgrant\s[^;]{1,160}\sto\s{1,4}\S{1,64}\s{1,4}$|,\s{0,4}["'`]\S{1,128}\s{1,4}$/i
const MAX_STATEMENT = 256

function identifiedIn(text: string): SecretFound[] {
  const found: SecretFound[] = []
  for (const match of text.matchAll(IDENTIFIED)) {
    const { 0: whole, index } = match
    const isUpper = whole.startsWith('IDENTIFIED')
    if (!isUpper && !SQL_USER.test(text.slice(Math.max(0, index - MAX_STATEMENT), index))) continue
    REPLACED.lastIndex = index + whole.length
    const former = REPLACED.exec(text)
    for (const one of former ? [match, former] : [match]) {
      const group = QUOTED.find((number) => one[number] !== undefined) ?? SQL_BARE
      const value = one[group] ?? ''
      // Without quotation marks, a word of a sentence may follow.
      if ((group !== SQL_BARE || isUpper || hasDigit(value)) && mayBeSecret(value)) found.push(passwordAt(one, group))
    }
  }
  return found
}

function passwordAt({ indices }: RegExpExecArray, group: number): SecretFound {
  const [start, end] = indices?.[group] ?? [0, 0]
  return { start, end, kind: 'password' }
}

function rolePasswordsIn(text: string): SecretFound[] {
  const found: SecretFound[] = []
  for (const match of text.matchAll(ROLE_PASSWORD)) {
    const group = QUOTED.find((number) => match[number] !== undefined) ?? 0
    // A sentence may be about a form with a password.
    const isSql = /^(?:create|alter)/i.test(match[0]) || /^WITH\s+PASSWORD\b/.test(match[0])
    if (isSql && mayBeSecret(match[group] ?? '')) found.push(passwordAt(match, group))
  }
  return found
}

/** Elements of XML that are named as a secret. */
function elementsIn(text: string): SecretFound[] {
  if (!text.includes('</')) return []
  const found: SecretFound[] = []
  for (const { 1: name = '', 2: value = '', indices } of text.matchAll(/<([\w:.-]{1,60})>([^<\0]{1,4096})<\//dg)) {
    const kind = namedSecret(name, value)
    const [start, end] = indices?.[2] ?? [0, 0]
    if (kind !== undefined) found.push({ start, end, kind })
  }
  return found
}

/** The searches, in order: what one finds, the next ones do not see. */
const SEARCHES: readonly ((text: string) => SecretFound[])[] = [
  privateKeysIn,
  search(
    'webhook-url',
    /\bhttps:\/\/(?:hooks\.slack\.com\/(?:services|workflows|triggers)|(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks|[\w-]{1,60}\.webhook\.office\.com\/webhookb2)\/([\w/@.-]{16,512})/dg,
    'https://',
  ),
  knownKeysIn,
  // A user without a password is secret if it looks like a token.
  search(
    'url-password',
    /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/?#"'<>:@\0]{0,256}:([^\s/?#"'<>\0]{1,512})@/dgi,
    '://',
    mayBeSecret,
  ),
  search('url-password', /\b[a-z][a-z0-9+.-]{0,30}:\/\/([^\s/?#"'<>:@\0]{16,512})@/dgi, '://'),
  search('cookie', /\b(?:Set-)?Cookie["']?\s{0,8}[:=]\s{0,8}["']?([^\r\n"'\0]{4,4096})/dgi, 'ookie', (value) =>
    value.includes('='),
  ),
  search(
    'token',
    /\bAuthorization["']?\s{0,8}[:=]\s{0,8}["']?(?:[A-Za-z][\w-]{0,30}\s{1,8})?([^\s"',;\0]{8,4096})/dgi,
    'uthorization',
    hasDigit,
  ),
  search('token', /\bSignature=([\w%+/=-]{20,512})/dg, 'Signature='),
  search('token', /\bBearer\s{1,8}([\w.~+/=-]{8,4096})/dgi, ' ', hasDigit),
  search('basic-auth', /\bBasic\s{1,8}([A-Za-z0-9+/]{6,1024}={0,2})/dgi, ' ', isBasic),
  search('azure-key', /\bSharedAccess(?:Key|Signature)=([^\s;"'&<>\0]{16,512})/dg, 'SharedAccess'),
  search('azure-key', /\bAccountKey=([\w%+/=-]{16,512})/dg, 'AccountKey='),
  search(
    'password',
    /(?<!\S)--?(?:password|passwd|passphrase|token|secret|api-key|access-token|auth-token)(?:[_-]?\d{1,3})?\s{1,8}["']?([^\s"'\0-][^\s"'\0]{3,512})/dg,
    '-',
    mayBeSecret,
  ),
  search(
    'password',
    /(?<!\S)(?:-u|--user)\s{1,8}["']?[^\s"':\0]{1,256}:([^\s"'\0]{1,512})/dg,
    '-u',
    (value) => /[^a-z]/.test(value) && mayBeSecret(value),
  ),
  search('password', SPOKEN, ' ', (value) => hasDigit(value) && mayBeSecret(value)),
  identifiedIn,
  rolePasswordsIn,
  elementsIn,
  assignedIn,
]
