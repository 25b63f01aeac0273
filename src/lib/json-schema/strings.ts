// Generates strings for a schema: what a person would write under that name or format.

/** Maximum length of a generated string, in characters. */
export const MAX_TEXT_LENGTH = 100_000

/** The purpose of a string, which selects among likely texts. */
interface TextPosition {
  /** Name of the property, or title of the schema. */
  name: string
  /** Index of the list item that contains the text. */
  turn: number
  /** A number in [0, 1), constant for the same position and purpose. */
  random(purpose: string): number
}

const KNOWN = new Map<string, string[]>(
  Object.entries({
    city: ['Paris', 'Oslo', 'Lima', 'Kyoto'],
    location: ['Paris', 'Oslo', 'Lima', 'Kyoto'],
    country: ['France', 'Norway', 'Peru', 'Japan'],
    street: ['12 Main Street', '5 Mill Lane'],
    address: ['12 Main Street, Paris', '5 Mill Lane, Oslo'],
    zip: ['75001', '0150'],
    postcode: ['75001', '0150'],
    email: ['alex@example.com', 'sam@example.com', 'kim@example.com'],
    url: ['https://example.com/', 'https://example.org/'],
    link: ['https://example.com/', 'https://example.org/'],
    phone: ['+1 555 0100', '+1 555 0101'],
    firstname: ['Alex', 'Sam', 'Kim', 'Robin'],
    lastname: ['Smith', 'Garcia', 'Tanaka', 'Novak'],
    username: ['alex', 'sam', 'kim', 'robin'],
    person: ['Alex Smith', 'Sam Garcia', 'Kim Tanaka'],
    author: ['Alex Smith', 'Sam Garcia', 'Kim Tanaka'],
    currency: ['EUR', 'USD', 'JPY'],
    language: ['English', 'French', 'Japanese'],
    color: ['green', 'blue', 'orange'],
    colour: ['green', 'blue', 'orange'],
    date: ['2026-01-15', '2026-02-20', '2026-03-25'],
    timezone: ['Europe/Paris', 'Asia/Tokyo'],
  }),
)

const two = (value: number) => String(value).padStart(2, '0')
const dayOf = (index: number) => `2026-${two((index % 12) + 1)}-${two((index % 28) + 1)}`
const hex = (position: TextPosition, length: number) =>
  Array.from({ length }, (_, index) =>
    Math.floor(position.random(`hex ${position.turn} ${index}`) * 16).toString(16),
  ).join('')

/** Letters as the first labels of a host name, each short enough. */
const labels = (more: string) => more.replace(/.{1,60}/g, '$&.')

/** Shorter texts, for low limits. */
const SHORT: Record<string, (position: TextPosition) => string> = {
  email: ({ turn }) => `${letter(turn)}@b.co`,
  'idn-email': ({ turn }) => `${letter(turn)}@b.co`,
  hostname: ({ turn }) => `${letter(turn)}.co`,
  uri: ({ turn }) => `a:${letter(turn)}`,
  'uri-reference': ({ turn }) => `/${letter(turn)}`,
}
const letter = (turn: number) => String.fromCharCode(97 + (turn % 26))

/** A text of each format; `more` are extra letters, for a minimum length. */
const FORMATS: Record<string, (position: TextPosition, more: string) => string> = {
  date: ({ turn }) => dayOf(turn),
  time: ({ turn }) => `${two((9 + turn) % 24)}:30:00Z`,
  'date-time': ({ turn }) => `${dayOf(turn)}T09:30:00Z`,
  duration: ({ turn }) => `PT${turn + 1}H`,
  email: ({ turn }, more) => `alex${turn || ''}@${labels(more)}example.com`,
  'idn-email': ({ turn }, more) => `alex${turn || ''}@${labels(more)}example.com`,
  hostname: ({ turn }, more) => `${labels(more)}${turn ? `host${turn}.` : ''}example.com`,
  'idn-hostname': ({ turn }) => `${turn ? `host${turn}.` : ''}example.com`,
  uri: ({ turn }, more) => `https://example.com/${turn || ''}${more}`,
  url: ({ turn }, more) => `https://example.com/${turn || ''}${more}`,
  iri: ({ turn }, more) => `https://example.com/${turn || ''}${more}`,
  'uri-reference': ({ turn }, more) => `/page${turn || ''}${more}`,
  'iri-reference': ({ turn }, more) => `/page${turn || ''}${more}`,
  'uri-template': ({ turn }, more) => `https://example.com/${turn || ''}${more}{id}`,
  uuid: (position) => hex(position, 32).replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-a$4-'),
  ipv4: ({ turn }) => `192.0.2.${(turn % 250) + 1}`,
  ipv6: ({ turn }) => `2001:db8::${(turn + 1).toString(16)}`,
  cidrv4: ({ turn }) => `192.0.${turn % 250}.0/24`,
  cidrv6: ({ turn }) => `2001:db8:${(turn + 1).toString(16)}::/48`,
  byte: ({ turn }) => btoa(`text ${turn}`),
  base64: ({ turn }) => btoa(`text ${turn}`),
  regex: ({ turn }, more) => `^[a-z]+${turn || ''}${more}$`,
  'json-pointer': ({ turn }, more) => `/item/${turn}${more}`,
  'relative-json-pointer': ({ turn }, more) => `${turn}/item${more}`,
  'json-pointer-uri-fragment': ({ turn }, more) => `#/item/${turn}${more}`,
}

/** The singular of a list's name: `cities` gives `city`. */
export const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/([^sui])s$/, '$1')

/** The words of a property's name: `finalAnswer` and `final_answer` give "final answer". */
const wordsOf = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()

/** A text that a person could write under this name. */
export function plainText({ name, turn, random }: TextPosition): string {
  const words = wordsOf(name) || 'text'
  const split = words.split(' ')
  const known = KNOWN.get(split.slice(-2).join('')) ?? KNOWN.get(split.at(-1) ?? '')
  if (known) return known[(Math.floor(random('word') * known.length) + turn) % known.length] ?? words
  return turn > 0 ? `${words} ${turn + 1}` : words
}

/** The text repeated or cut to the lengths that a schema requires. */
export function fitted(text: string, shortest: number, longest: number): string {
  const long = text.length >= shortest ? text : `${text} `.repeat(Math.ceil(shortest / (text.length + 1)) + 1)
  const cut = long.slice(0, text.length >= shortest ? longest : shortest)
  return cut.endsWith(' ') ? `${cut.slice(0, -1)}.` : cut
}

/** Texts of a format, some of at least `shortest` characters; none if the format is unknown. */
export function formatTexts(format: string, position: TextPosition, shortest: number): string[] {
  const make = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  if (!make) return []
  const text = make(position, '')
  const long = make(position, 'a'.repeat(Math.max(0, shortest - text.length)))
  // Some patterns beside a format require the local time.
  return [
    text,
    long,
    text.replace(/Z$/, ''),
    ...(Object.hasOwn(SHORT, format) ? [SHORT[format]?.(position) ?? ''] : []),
  ]
}
