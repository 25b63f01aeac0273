// Assigns times to a text over the length of a file: to every segment, word and character, in order.
import type { ScriptSegment, TranslationRequest, TranslationScript } from '../../contract/router/translations.ts'

/** A piece of text with its time, in ms from the start of the file. */
export interface TimedText {
  text: string
  start: number
  end: number
}

/** A passage of one speaker. */
export interface Segment extends TimedText {
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
