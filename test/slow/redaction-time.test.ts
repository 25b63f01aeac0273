// Redaction takes linear time, whatever a response contains. Slow because 320 kB of each text are searched.
import { expect, test } from 'bun:test'
import { createRedactor } from '../../src/cassettes/redact.ts'

const MB = 2 ** 20
const fill = (text: string) => (size: number) => text.repeat(Math.ceil(size / text.length)).slice(0, size)
const anchors =
  'sk-ant- ops_ secret :// cfk_ mongodb dapi dckr_pat_ figd_ gh github_pat glpat- glc_ gsk_ hvs. hf_ lin_api_ ntn_ npm_ sk- private key sg. shp xox sk_ tskey- vcp_ '

/** Texts that make patterns try again and again, by what they aim at. */
const HOSTILE: Record<string, (size: number) => string> = {
  'one word': fill('a'),
  digits: fill('1'),
  'digits and spaces': fill('1 '),
  'beginnings of all kinds': fill(anchors),
  'tokens without an end': (size) => `${anchors}${fill('ghs_1_')(size)}!`,
  'short tokens': fill('sk-aaaaaaaa '),
  'beginnings of private keys': fill('-----BEGIN RSA PRIVATE KEY-----\nMIIE'),
  'private keys without an end': fill('-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAA '),
  'e-mail addresses': fill('a@b.co '),
  'nearly e-mail addresses': fill('a.b-c@d.e.f.g.h.i:x '),
  'nearly IBANs': fill('NL91 ABNA 0417 1643 01 '),
  'telephone numbers': (size) =>
    Array.from({ length: size / 10 }, (_, index) => `+1212${5_550_000 + index} `)
      .join('')
      .slice(0, size),
  'different e-mail addresses': (size) =>
    Array.from({ length: size / 10 }, (_, index) => `a${index}@b.co `)
      .join('')
      .slice(0, size),
  'different passwords, repeated': (size) =>
    Array.from({ length: size / 40 }, (_, index) => `password=x-${index % 5_000}y x-${index}y `)
      .join('')
      .slice(0, size),
  'names of secrets': fill('password:        '),
  'quoted secrets without an end': fill('password="'),
  'passwords of SQL': fill("IDENTIFIED BY 'a"),
  'users of SQL': fill('create user a, grant b to identified by "c"'),
  'numbered names': fill('password123password_1_2: '),
  'groups of cards': fill('4111\u00a0'),
  'URLs with users': fill('https://a:b@c.d/ '),
  parameters: fill('?a=b&c=%41%42'),
  'JSON Web Tokens': fill('eyJaaaaa.'),
  'open lists': fill('['),
  'open objects': fill('{"a":'),
  'lines of JSON': fill('{"password":"x"}\n'),
  'escaped quotes': (size) => `["${fill('\\"')(size)}`,
  'JSON in JSON in JSON': (size) => JSON.stringify(JSON.stringify(JSON.stringify({ a: fill('"x')(size / 8) }))),
  'connection strings': fill('mongodb://a:b@'),
  events: fill('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'),
  'empty lines of data': fill('data:\n'),
}

/** Milliseconds of processor time that redacting a response takes. */
function timeOf(text: string): number {
  const redactor = createRedactor({ paths: [], personalNames: true, keys: ['a-key-of-a-provider-0123'] })
  const frames = [{ at: 0, bytes: new TextEncoder().encode(text) }]
  const started = process.cpuUsage()
  redactor.attempt({ end: 'complete', endedAt: 1, response: { status: 200, headers: [], at: 0, frames } })
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}

/** Milliseconds over which the time of a short text is averaged. */
const AVERAGED_MS = 30

/** The same on average. */
function averageTimeOf(text: string): number {
  timeOf(text)
  let all = 0
  let count = 0
  for (; all < AVERAGED_MS; count++) all += timeOf(text)
  return all / count
}

/** Times of a long text: the collection of garbage may fall into one or two, and makes short ones many times as long. */
const ATTEMPTS = 5

/** The least time of a text, once it is below a limit. */
function leastTimeOf(text: string, limit: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < ATTEMPTS && least >= limit; attempt++) least = Math.min(least, timeOf(text))
  return least
}

const SHORT = MB / 128
/** How much longer than for as many short texts a long one may take, on a machine that does anything else meanwhile. */
const MAX_GROWTH = 4

test.each(Object.entries(HOSTILE))(
  'redaction: takes linear time for %s',
  (_, make) => {
    const short = averageTimeOf(make(SHORT))
    // In quadratic time it would be 8 and 32. The shorter text comes first, so that this fails soon.
    for (const times of [8, 32]) {
      const linear = times * short
      const growth = leastTimeOf(make(times * SHORT), MAX_GROWTH * linear) / linear
      expect({ times, growth, isLinear: growth < MAX_GROWTH }).toMatchObject({ isLinear: true })
    }
  },
  120_000,
)
