// The five response formats: an object with the text, plain text, two kinds of subtitles, and all details.
import { deflateSync } from 'node:zlib'
import type {
  Translation,
  TranslationRequest,
  TranslationScript,
  VerboseTranslation,
} from '../../contract/router/translations.ts'
import { chance } from '../../lib/chance.ts'
import { encodeTokens } from '../../lib/tokens.ts'
import { charactersOf, type Segment, type TimedText } from './timeline.ts'

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
