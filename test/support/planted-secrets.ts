// Secrets of 40 and more kinds, none of them real: each has the form that its provider documents, and random characters.

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const DIGITS = '0123456789'
const HEX = '0123456789abcdef'
const ALNUM = `${LOWER}${LOWER.toUpperCase()}${DIGITS}`
const UPPER = `${LOWER.toUpperCase()}${DIGITS}`

let state = 7
/** Characters that look random and are the same in every run. */
function some(length: number, alphabet = ALNUM): string {
  let text = ''
  while (text.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += alphabet[(state >> 8) % alphabet.length]
  }
  return text
}
// The parts are joined here, so that no scanner of repositories takes them for real ones.
const join = (...parts: string[]) => parts.join('')

const pem = (kind: string) =>
  [
    '-----BEGIN ',
    kind,
    'PRIVATE KEY-----\nMII',
    some(61),
    '\n',
    some(64),
    '\n',
    some(40),
    '\n-----END ',
    kind,
    'PRIVATE KEY-----',
  ].join('')
const jwt = () => join('ey', 'J', some(20), '.', 'ey', 'J', some(30), '.', some(43))

/** The secrets, by kind. */
export const PLANTED: Readonly<Record<string, string>> = {
  openai: join('sk', '-proj-', some(40)),
  openaiOld: join('sk', '-', some(20), 'T3BlbkFJ', some(20)),
  deepseek: join('sk', '-', some(32, HEX)),
  anthropic: join('sk', '-ant-api03-', some(93), 'AA'),
  openrouter: join('sk', '-or-v1-', some(64, HEX)),
  google: join('AI', 'za', some(35)),
  googleOauth: join('ya', '29.', some(60)),
  googleClient: join('GOC', 'SPX-', some(28)),
  groq: join('gs', 'k_', some(52)),
  xai: join('xa', 'i-', some(80)),
  perplexity: join('pp', 'lx-', some(48)),
  fireworks: join('f', 'w_', some(24)),
  together: join('tg', 'p_v1_', some(43)),
  huggingface: join('h', 'f_', some(34, LOWER)),
  replicate: join('r', '8_', some(37)),
  nvidia: join('nv', 'api-', some(64)),
  cerebras: join('cs', 'k-', some(48, LOWER + DIGITS)),
  awsId: join('AK', 'IA', some(16, UPPER)),
  awsSecret: join('aws_secret', '_access_key = ', some(40)),
  azureStorage: join('AccountName=x;Account', 'Key=', some(86), '=='),
  github: join('gh', 'p_', some(36)),
  githubFine: join('github', '_pat_', some(82)),
  gitlab: join('gl', 'pat-', some(20)),
  slack: join('xo', 'xb-', some(12, DIGITS), '-', some(12, DIGITS), '-', some(24)),
  slackHook: join('https://hooks.slack', '.com/services/T', some(8, UPPER), '/B', some(8, UPPER), '/', some(24)),
  stripe: join('sk', '_live_', some(24)),
  sendgrid: join('S', 'G.', some(22), '.', some(43)),
  twilio: join('S', 'K', some(32, HEX)),
  mailgun: join('ke', 'y-', some(32, HEX)),
  npm: join('np', 'm_', some(36)),
  pypi: join('py', 'pi-AgEIcHlwaS5vcmc', some(60)),
  vault: join('hv', 's.', some(95)),
  databricks: join('da', 'pi', some(32, HEX)),
  linear: join('lin', '_api_', some(40)),
  notion: join('nt', 'n_', some(11, DIGITS), some(35)),
  shopify: join('shp', 'at_', some(32, HEX)),
  telegram: join(some(9, '123456789'), ':', 'AA', some(33)),
  tailscale: join('ts', 'key-auth-', some(12), '-', some(32)),
  docker: join('dckr', '_pat_', some(27)),
  figma: join('fi', 'gd_', some(43)),
  jwt: jwt(),
  bearer: join('Bearer ', some(32)),
  basic: `Basic ${Buffer.from(`admin:${some(12)}`).toString('base64')}`,
  urlPassword: join('postgres', '://app:', some(16), '@db.internal:5432/app'),
  password: join('password: ', some(12), '7'),
  rsa: pem('RSA '),
  pkcs8: pem(''),
  card: '4111 1111 1111 1111',
  amex: '378282246310005',
  iban: 'NL91 ABNA 0417 1643 00',
  ibanDe: 'DE89370400440532013000',
  email: 'jane.doe+test@mail.example.org',
  phone: '+31 20 624 1111',
  phoneUs: '(212) 555-0187',
  ssn: '536-90-4399',
  azure: join(some(52), 'JQQ', 'J99', some(26)),
  firecrawl: join('f', 'c-', some(32, HEX)),
  e2b: join('e', '2b_', some(40, HEX)),
  resend: join('r', 'e_', some(8), '_', some(24)),
  cardNoBreak: ['4111', '1111', '1111', '1111'].join('\u00a0'),
  cardThin: ['5555', '5555', '5555', '4444'].join('\u2009'),
  cardNarrow: ['3782', '822463', '10005'].join('\u202f'),
  cardHyphens: '4111\u20101111\u20111111\u22121111',
  cardDashes: '4111\u20121111\u20131111\u20141111',
  cardBar: ['6011', '1111', '1111', '1117'].join('\u2015'),
  passwordNumbered: join('password2: ', some(12), '7'),
  keyNumbered: join('OPENAI_API_KEY_12=', some(32), '7'),
  sql: join("CREATE USER joe IDENTIFIED BY '", some(12), "7'"),
  passwordAsValue: join('key=', 'password: ', some(12), '7'),
}

/** The part of a planted text that must be gone: the rest of it names what it is. */
export function secretPart(planted: string): string {
  const [, part] =
    /(?:Bearer |Basic |:\/\/app:|password2?: |KEY_12=|BY '|AccountKey=|_key = |services\/)([^@']+)/.exec(planted) ?? []
  return part ?? planted
}
