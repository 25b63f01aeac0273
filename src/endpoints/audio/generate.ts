// Generates a text for a file without a fixture: everyday sentences that fit its length, the same for equal bytes.
import type { ScriptSegment, TranslationRequest, TranslationScript } from '../../contract/router/translations.ts'
import { chance } from '../../lib/chance.ts'

const WORDS_A_SECOND = 2.5
// Two hours of speech. A longer file is spoken more slowly, since a small file may claim to last for months.
const MAX_WORDS = 18_000
const SPEAKERS = 2
const EVENT_CHANCE = 0.15

const SENTENCES = [
  'Good morning, and thank you all for coming.',
  'We have a lot to talk about today.',
  'Let me begin with what happened last week.',
  'The train was late, so I walked along the river instead.',
  'I think we should move the meeting to Thursday.',
  'Could you say that again, please?',
  'Yes, that is exactly what I meant.',
  'The first results look better than we expected.',
  'Nobody had told us about the change of plan.',
  'She asked me to bring the papers before noon.',
  'It rained all night, but the garden looks wonderful.',
  'We still need to decide who will write the report.',
  'That is a good question, and I do not have an answer yet.',
  'Most of our customers live outside the city.',
  'He opened the window and listened to the street.',
  'The new kitchen will be ready in the spring.',
  'Prices went up a little at the end of the year.',
  'I would like to add one more thing.',
  'Perhaps we can look at the numbers together.',
  'My grandmother used to tell that story every winter.',
  'There is plenty of time, so let us go slowly.',
  'The second half of the project starts next month.',
  'Everyone agreed that it was worth the effort.',
  'Thank you for listening, and see you next time.',
]
// For the last one to five words, for which every sentence above is too long.
const ENDINGS = ['', 'Yes.', 'All right.', 'That is fine.', 'See you next time.', 'Let us leave it there.']
const EVENTS = ['laughter', 'applause', 'footsteps', 'coughing', 'music']

/** A conversation as long as the file, determined by its bytes and by the prompt. */
export function generate({ file, prompt = '', num_speakers }: TranslationRequest): TranslationScript {
  const random = (purpose: string, index: number) => chance(0, file.sha256, prompt, purpose, index)
  const pick = <T>(values: readonly T[], random: number) => values[Math.floor(random * values.length)] as T
  // A step without a common factor visits all sentences before one repeats.
  const first = Math.floor(random('first', 0) * SENTENCES.length)
  const step = pick([5, 7, 11, 13, 17, 19], random('step', 0))
  const segments: ScriptSegment[] = []
  let speaker = 0
  let remaining = Math.min(MAX_WORDS, Math.max(1, Math.round(file.seconds * WORDS_A_SECOND)))
  for (let index = 0; remaining > 0; index++) {
    const text = ENDINGS[remaining] ?? SENTENCES[(first + index * step) % SENTENCES.length] ?? ''
    const words = text.split(' ').length
    if (words > remaining) continue
    if (segments.length > 0 && random('turn', index) < 0.5) speaker = (speaker + 1) % (num_speakers ?? SPEAKERS)
    const event = random('event', index) < EVENT_CHANCE ? pick(EVENTS, random('kind', index)) : undefined
    segments.push({ text, speaker, ...(event === undefined ? {} : { event }) })
    remaining -= words
  }
  return { segments }
}
