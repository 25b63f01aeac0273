import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadFixtures, readPath } from '../../src/backends/fixture/load.ts'
import { allOperations } from '../../src/endpoints/index.ts'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'
import { fileOf, media, send, speak } from '../support/translations.ts'

const operations = allOperations()

const folder = emptyFolder()
// sha256sum test/support/media/silence.m4a
const HASH = 'c1ccf7284ffd9e556c646b3f60aa0cb6796d7b3cf7b832428f2dfd8ce94fd047'
const path = join(folder.path, 'fixtures.yaml')
writeFileSync(
  path,
  `
- match: { operation: audio.translations, file: { name: { regex: '^call-(?<number>\\d+)' } } }
  reply: { text: 'Call {{captures.number}}, that is {{call.file.name}}.' }
- match: { operation: audio.translations, file: { name: exact.wav } }
  replies: [{ text: First. }, { text: Then. }]
- match: { operation: audio.translations, file: { sha256: ${HASH} } }
  reply: { text: By its bytes., timing: { first_token: 2s } }
- match: { operation: audio.translations, file: { seconds: { min: 1.9, max: 1.93 } } }
  reply: { text: By its length. }
- match: { operation: audio.translations, file: { seconds: 1.939 } }
  reply: { text: By its length to the millisecond. }
`,
)
const app = createTestApp({ fixtures: [path], shipped_fixtures: true })
afterAll(app.close)
afterAll(folder.remove)

test.each([
  ['the name', () => speak('mp3'), 'call-17.mp3', 'Call 17, that is call-17.mp3.'],
  ['a plain name', () => speak('wav'), 'exact.wav', 'First.'],
  ['a plain name, another one', () => speak('wav'), 'exact.wav', 'Then.'],
  ['a hash of the bytes', () => media('silence.m4a'), 'any.m4a', 'By its bytes.'],
  ['a range of lengths', () => media('tone.webm'), 'any.webm', 'By its length.'],
  ['one length', () => media('tone-opus.mp4'), 'any.mp4', 'By its length to the millisecond.'],
  ['the shipped interview', () => speak('mp3'), 'Interview 2.mp3', 'Welcome back, and thank you for coming. Thank you'],
])('translation fixture: matches on %s', async (_, read, name, text) => {
  const answer = await send(app, { file: fileOf(await read(), name) })
  expect(answer.json().text).toStartWith(text)
  const fixture = answer.headers.get('x-understudy-fixture')
  expect(fixture).toStartWith('audio.translations/')
  expect(await app.traceOf(answer)).toMatchObject({ fixture, generated: false })
})

test('translation fixture: waits its delay', async () => {
  const answer = await send(app, { file: fileOf(await media('silence.m4a'), 'any.m4a') })
  expect(await app.traceOf(answer)).toMatchObject({ duration_ms: 2_000 })
})

test('translation near miss: names the properties of the file', async () => {
  const one = createTestApp({ fixtures: [path], on_unmatched: 'error' })
  const { message } = errorOf((await send(one, {})).text, 404)
  expect(message).toContain('(file.name: expected "exact.wav", got "talk.mp3")')
  expect(message).toMatch(new RegExp(`\\(file.sha256: expected "${HASH}", got "[0-9a-f]{64}"\\)`))
  await one.close()
})

test.each([
  ['{ name: { contains: call } }', '{ name: a call.mp3, seconds: 5 }', 1],
  ['{ name: { contains: call } }', '{ seconds: 5 }', 0],
  ['{ seconds: 5 }', '{ name: a call.mp3, seconds: 5 }', 1],
  ['{ seconds: { max: 5 } }', '{ seconds: { max: 4 } }', 0],
])('translation fixtures %s before %s: report %i that can never answer', (wide, narrow, count) => {
  const file = join(folder.path, 'shadow.yaml')
  const one = (match: string) => `- { match: { operation: audio.translations, file: ${match} }, reply: { text: x } }\n`
  writeFileSync(file, one(wide) + one(narrow))
  expect(loadFixtures(readPath(file), operations).warnings).toHaveLength(count)
})

test.each([
  ['reply: { text: a, segments: [] }', "must have exactly one of 'text' and 'segments'"],
  ['reply: { segments: [{ speaker: 1 }] }', "must have a 'text', an 'event' or both"],
  ['reply: { segments: [{ text: a, start: 2, end: 1 }] }', "'end' must not be before 'start'"],
  ['match: { file: { sha256: abc } }', 'must be 64 hexadecimal digits'],
  ['match: { file: { size: 5 } }', 'match.file.size is not known; valid: name, sha256, seconds'],
])('translation fixture %s: is rejected with %s', (text, words) => {
  const file = join(folder.path, 'wrong.yaml')
  const match = text.startsWith('match') ? '\nreply: { text: a }' : '\nmatch: { operation: audio.translations }'
  writeFileSync(file, text.replace('match: {', 'match: { operation: audio.translations,') + match)
  expect(() => loadFixtures(readPath(file), operations)).toThrow(words)
})
