// The five response formats: an object with the text, plain text, two kinds of subtitles, and all details.
import { deflateSync } from 'node:zlib'
import type {
  ScriptSegment,
  Translation,
  TranslationRequest,
  TranslationScript,
  VerboseTranslation,
} from '../../contract/router/translations.ts'
import { chance } from '../../lib/chance.ts'
import { encodeTokens } from '../../lib/tokens.ts'

/** A piece of text with its time, in ms from the start of the file. */
interface TimedText {
  text: string
  start: number
  end: number
}

/** A passage of one speaker. */
interface Segment extends TimedText {
  /** Present when the call requested diarization. */
  speaker?: string
  words: TimedText[]
}

type Options = Pick<TranslationRequest, 'diarize' | 'num_speakers' | 'tag_audio_events' | 'file'>
type Part = Pick<ScriptSegment, 'speaker' | 'start' | 'end'> & { words: string[] }

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const split = (segmenter: Intl.Segmenter, text: string) => [...segmenter.segment(text)].map(({ segment }) => segment)
const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== '')

/** The segments of a script, for the length and the options of a call. */
export function segmentsOf(script: TranslationScript, options: Options): Segment[] {
  const scriptSegments = script.segments ?? split(sentences, script.text ?? '').map((text): ScriptSegment => ({ text }))
  const parts = scriptSegments
    .map(({ text, event, ...part }): Part => {
      const tags = event !== undefined && options.tag_audio_events ? [`(${event})`] : []
      return { ...part, words: [...wordsOf(text), ...tags] }
    })
    .filter((part) => part.words.length > 0)
  const names = [...new Set(parts.map((part) => part.speaker))]
  const maxSpeakers = options.num_speakers ?? 32
  const times = timesOf(parts, Math.round(options.file.seconds * 1000))
  return parts.map(({ words, speaker }, index) => {
    const { start = 0, end = 0 } = times[index] ?? {}
    return {
      text: words.join(' '),
      start,
      end,
      ...(options.diarize ? { speaker: `speaker_${names.indexOf(speaker) % maxSpeakers}` } : {}),
      words: spread(words, start, end),
    }
  })
}

/** The characters of a word with their times. */
export const charactersOf = ({ text, start, end }: TimedText): TimedText[] => spread(split(graphemes, text), start, end)

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high)
const weightOf = ({ words }: Part) => words.join(' ').length

/** Times of the script where it has some; other parts share the gaps by the length of their text. */
function timesOf(parts: readonly Part[], total: number): { start: number; end: number }[] {
  const milliseconds = (seconds: number) => clamp(Math.round(seconds * 1000), 0, total)
  // Backward pass: the end of each run of parts without a start time, and the remaining text up to it.
  const runs: { limit: number; weight: number }[] = []
  let run = { limit: total, weight: 0 }
  for (let index = parts.length - 1; index >= 0; index--) {
    const part = parts[index] as Part
    runs[index] = { limit: run.limit, weight: run.weight + weightOf(part) }
    run = part.start === undefined ? (runs[index] as typeof run) : { limit: milliseconds(part.start), weight: 0 }
  }
  let cursor = 0
  return parts.map((part, index) => {
    const { limit, weight } = runs[index] as typeof run
    const start = part.start === undefined ? cursor : Math.max(cursor, milliseconds(part.start))
    const share = Math.round((Math.max(0, limit - start) * weightOf(part)) / weight)
    cursor = part.end === undefined ? start + share : Math.max(start, milliseconds(part.end))
    return { start, end: cursor }
  })
}

/** Pieces in order from `start` to `end`, with durations proportional to their length. */
function spread(pieces: readonly string[], start: number, end: number): TimedText[] {
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0)
  let length = 0
  let from = start
  return pieces.map((text) => {
    length += text.length
    const piece = { text, start: from, end: start + Math.round(((end - start) * length) / total) }
    from = piece.end
    return piece
  })
}

/** A script with timings for the file of its call. */
interface AudioResponse {
  request: TranslationRequest
  script: TranslationScript
  segments: readonly Segment[]
}

/** The response in the requested format. */
export function answerOf(response: AudioResponse): Translation {
  const format = response.request.response_format
  switch (format) {
    case 'json':
      return { text: translationText(response) }
    case 'text':
      return translationText(response)
    case 'srt':
      return response.segments.map((segment, index) => `${index + 1}\n${cue(segment, ',', labelled(segment))}`).join('')
    case 'vtt':
      return `WEBVTT\n\n${response.segments.map((segment) => cue(segment, '.', escapeCue(labelled(segment)))).join('')}`
    case 'verbose_json':
      return verbose(response)
    default:
      return format satisfies never
  }
}

/** The whole text; with diarization, every change of speaker begins a line with the speaker's name. */
export function translationText({ request, script, segments }: AudioResponse): string {
  if (script.text !== undefined && !request.diarize) return script.text
  return segments
    .map((segment, index) => {
      if (index === 0) return labelled(segment)
      return segment.speaker === segments[index - 1]?.speaker ? ` ${segment.text}` : `\n${labelled(segment)}`
    })
    .join('')
}

const labelled = ({ speaker, text }: Segment) => (speaker === undefined ? text : `[${speaker}] ${text}`)

/** One cue; SubRip has a comma before the fraction of a second, WebVTT a point. */
const cue = ({ start, end }: TimedText, point: string, text: string) =>
  `${stamp(start, point)} --> ${stamp(end, point)}\n${text}\n\n`

function stamp(milliseconds: number, point: string): string {
  const seconds = Math.floor(milliseconds / 1000)
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0')
  const clock = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => pad(part))
  return `${clock.join(':')}${point}${pad(milliseconds % 1000, 3)}`
}

/** WebVTT interprets tags and character references in a cue (section 3.2), and an arrow would begin the next cue. */
const escapeCue = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const seconds = ({ start, end }: TimedText) => ({ start: start / 1000, end: end / 1000 })
const speakerField = (speaker: string | undefined) => (speaker === undefined ? {} : { speaker })

function verbose({ request, script, segments }: AudioResponse): VerboseTranslation {
  const { timestamps_granularity: granularity, file } = request
  const words = segments.flatMap(({ words, speaker }) =>
    words.map((word) => ({
      word: word.text,
      ...seconds(word),
      ...speakerField(speaker),
      ...(granularity === 'character'
        ? { characters: charactersOf(word).map((one) => ({ text: one.text, ...seconds(one) })) }
        : {}),
    })),
  )
  return {
    task: 'translate',
    language: script.language ?? 'english',
    duration: file.seconds,
    text: script.text ?? segments.map((segment) => segment.text).join(' '),
    ...(granularity === 'none' ? {} : { words }),
    segments: segments.map((segment, id) => ({
      id,
      ...measured(segment, id, request),
      ...speakerField(segment.speaker),
    })),
  }
}

// Whisper, whose format this is, processes windows of 30 seconds in frames of 10 ms; `seek` is the first frame of the
// window.
const WINDOW_MS = 30_000
const FRAMES_A_WINDOW = 3_000
const round = (value: number) => Math.round(value * 1e4) / 1e4

function measured(segment: Segment, id: number, { temperature = 0, file }: TranslationRequest) {
  const { text } = segment
  return {
    seek: Math.floor(segment.start / WINDOW_MS) * FRAMES_A_WINDOW,
    ...seconds(segment),
    text,
    tokens: encodeTokens(text),
    temperature,
    // The confidence of a model is not known here: these are values of a clear recording.
    avg_logprob: round(-0.1 - 0.3 * chance(0, file.sha256, 'logprob', id)),
    compression_ratio: round(Buffer.byteLength(text) / deflateSync(text).length),
    no_speech_prob: round(0.05 * chance(0, file.sha256, 'no speech', id)),
  }
}
