// Redaction takes linear time, whatever a response contains. Slow because 0.5 to 4 MB of each text are searched.
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

/** Milliseconds of processor time from which growth can be seen. */
const MEASURABLE_MS = 5

test.each(Object.entries(HOSTILE))(
  'redaction: takes linear time for %s',
  (_, make) => {
    timeOf(make(MB / 32))
    // Long enough to be measured: a text eight times as long would take 64 times as long if it were not linear.
    let size = MB / 16
    let one = timeOf(make(size))
    while (one < MEASURABLE_MS && size < MB / 2) {
      size *= 2
      one = timeOf(make(size))
    }
    one = Math.min(one, timeOf(make(size)))
    const eight = timeOf(make(8 * size))
    // Eight times as long, and an eighth and 200 ms more for a busy machine.
    expect({ one, eight, isLinear: eight < 9 * one + 200 }).toMatchObject({ isLinear: true })
    expect(eight).toBeLessThan(15_000)
  },
  120_000,
)
