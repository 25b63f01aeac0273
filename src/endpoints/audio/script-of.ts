// Derives a script from a translation in any of its five formats.
import type { ScriptSegment, TranslationScript } from '../../contract/router/translations.ts'
import { asObject, asText, type JsonObject, objectsIn } from '../../lib/values.ts'

/** The script of a translation; undefined for anything else. */
export function translationScriptOf(answer: unknown): TranslationScript | undefined {
  const bare = asText(answer)
  if (bare !== undefined) return segmentsScript(cuesIn(bare)) ?? textScript(bare)
  const { segments, text, language } = asObject(answer) ?? {}
  const named = asText(language) && { language: asText(language) }
  const timed = segmentsScript(objectsIn(segments).flatMap(segmentOf))
  const whole = asText(text)
  const script = timed ?? (whole === undefined ? undefined : textScript(whole))
  return script && { ...script, ...named }
}

const segmentsScript = (segments: ScriptSegment[]): TranslationScript | undefined =>
  segments.length > 0 ? { segments } : undefined

const LABEL = /^\[(speaker_\d+)\] /

/** A plain text; with diarization, every change of speaker begins a line with the speaker's name. */
function textScript(text: string): TranslationScript {
  const lines = text.split('\n')
  if (!lines.every((line) => LABEL.test(line))) return { text }
  return { segments: lines.map((line) => segmentIn(line)).filter(({ text }) => text !== '') }
}

/** A line as text and speaker. */
function segmentIn(line: string): ScriptSegment {
  const speaker = LABEL.exec(line)?.[1]
  return speaker === undefined ? { text: line } : { text: line.replace(LABEL, ''), speaker }
}

/** Times that are valid and in order. */
const timesOf = (start: unknown, end: unknown): Pick<ScriptSegment, 'start' | 'end'> =>
  typeof start === 'number' && typeof end === 'number' && start >= 0 && end >= start ? { start, end } : {}

function segmentOf({ text, start, end, speaker }: JsonObject): ScriptSegment[] {
  const content = asText(text)
  if (!content) return []
  return [{ text: content, ...timesOf(start, end), ...(asText(speaker) && { speaker: asText(speaker) }) }]
}

const STAMP = '(?:(\\d+):)?(\\d{2}):(\\d{2})[.,](\\d{3})'
const TIMES = new RegExp(`^${STAMP} --> ${STAMP}`)

/** The cues of SubRip or WebVTT; empty for any other text. */
function cuesIn(text: string): ScriptSegment[] {
  const isWebVtt = text.startsWith('WEBVTT')
  if (!isWebVtt && !/^1\r?\n\S+ --> /.test(text)) return []
  return text.split(/\r?\n\r?\n/).flatMap((block) => {
    const lines = block.split(/\r?\n/)
    const at = lines.findIndex((line) => TIMES.test(line))
    const times = TIMES.exec(lines[at] ?? '')
    if (!times) return []
    const content = lines.slice(at + 1).join(' ')
    const { text, ...rest } = segmentIn(isWebVtt ? unescapeCue(content) : content)
    const [start, end] = [secondsOf(times.slice(1, 5)), secondsOf(times.slice(5, 9))]
    return text === '' ? [] : [{ text, ...rest, ...timesOf(start, end) }]
  })
}

const secondsOf = ([hours = '0', minutes, seconds, milliseconds]: readonly string[]): number =>
  Number(hours) * 3600 + Number(minutes) * 60 + Number(`${seconds}.${milliseconds}`)

const unescapeCue = (text: string) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
