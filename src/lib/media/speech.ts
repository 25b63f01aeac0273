// Sound that stands for spoken text: one soft vowel per letter at the pace of speech, rests at spaces and punctuation.
// Any player can play it, and the same text and voice give the same bytes.
import { bytesOf, mp3Of, wavOf } from './audio-encode.ts'
import { flacOf } from './flac.ts'
import { oggOpusOf } from './ogg-opus.ts'

/** Audio formats of chat responses; `opus` is Opus in Ogg, `pcm16` raw little-endian samples. */
export type SpeechFormat = 'wav' | 'mp3' | 'flac' | 'opus' | 'pcm16'

/** Sample rate of every format in hertz, mono; Ogg Opus counts 48,000 by its own rule. */
export const SPEECH_RATE = 24_000

/** Pitch of each voice, in hertz. */
const pitches = { alloy: 165, echo: 120, fable: 185, onyx: 95, nova: 210, shimmer: 235 }

/** Names of the voices. */
export type SpeechVoice = keyof typeof pitches

const encoders: Record<SpeechFormat, (pcm: Int16Array, rate: number) => Uint8Array | Promise<Uint8Array>> = {
  wav: wavOf,
  mp3: mp3Of,
  flac: flacOf,
  opus: oggOpusOf,
  pcm16: bytesOf,
}

const LETTER = SPEECH_RATE / 15
const MAX_LENGTH = 60 * SPEECH_RATE
// About a fifth of full scale: audible, but not startling.
const LOUDNESS = 6000
const PERIOD = 512

/** The first two resonances of a, e, i, o and u, in hertz. */
const vowels: [number, number][] = [
  [730, 1090],
  [530, 1840],
  [270, 2290],
  [570, 840],
  [300, 870],
]

/** One period of a vowel at a pitch: the harmonics near the two resonances are the strong ones. */
function periodOf(pitch: number, [first, second]: [number, number]): Float64Array {
  const period = new Float64Array(PERIOD)
  for (let harmonic = 1; harmonic * pitch < 3000; harmonic++) {
    const near = (resonance: number) => 1 / (1 + ((harmonic * pitch - resonance) / 150) ** 2)
    const strength = near(first) + near(second) / 3 + 0.3 / harmonic ** 2
    for (let index = 0; index < PERIOD; index++) {
      period[index] = (period[index] ?? 0) + strength * Math.sin((2 * Math.PI * harmonic * index) / PERIOD)
    }
  }
  const peak = period.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  return period.map((value) => value / peak)
}

/** The length of a character in letters. */
const lengthOf = (character: string): number =>
  /[.!?…:;\n。！？]/u.test(character) ? 3 : /[,，、()–—]/u.test(character) ? 2 : 1

/** The vowel that a letter sounds like, and its volume: a consonant is a softer vowel. */
function soundOf(character: string): { vowel: number; gain: number } {
  const plain = character.normalize('NFD').charAt(0).toLowerCase()
  const vowel = 'aeiou'.indexOf(plain)
  if (vowel >= 0) return { vowel, gain: 1 }
  return { vowel: (character.codePointAt(0) ?? 0) % vowels.length, gain: 0.4 }
}

/**
 * The samples of a text in a voice: 16 bits, mono, `SPEECH_RATE` per second, about 15 characters per second and at most
 * 60 seconds. An empty text is one letter of silence, so that no file is empty.
 */
export function pcmOf(text: string, voice: SpeechVoice, speed = 1): Int16Array {
  const letter = Math.round(LETTER / speed)
  const characters = Array.from(text.slice(0, 2000))
  const letters = characters.reduce((sum, character) => sum + lengthOf(character), 0)
  const pcm = new Int16Array(Math.min(MAX_LENGTH, Math.max(1, letters) * letter))
  const pitch = pitches[voice]
  const periods = vowels.map((vowel) => periodOf(pitch, vowel))
  let start = 0
  let phase = 0
  for (const character of characters) {
    if (start >= pcm.length) break
    if (/[\p{L}\p{N}]/u.test(character)) {
      const { vowel, gain } = soundOf(character)
      const period = periods[vowel] ?? []
      // A small variation between letters keeps it from being one long beep.
      const step = (PERIOD * pitch * (0.94 + 0.03 * vowel)) / SPEECH_RATE
      for (let index = 0; index < letter; index++) {
        phase = (phase + step) % PERIOD
        const swell = Math.sin((Math.PI * index) / letter)
        pcm[start + index] = Math.round(LOUDNESS * gain * swell * (period[Math.trunc(phase)] ?? 0))
      }
    }
    start += lengthOf(character) * letter
  }
  return pcm
}

/** The text to speak, and how. */
export interface SpeechOptions {
  text: string
  voice: SpeechVoice
  format: SpeechFormat
  /** Speed factor, default 1: a faster text is shorter, at the same pitch. */
  speed?: number
}

/** A text as an audio file of the requested format (raw samples for `pcm16`), with its length in seconds. */
export async function renderSpeech(speech: SpeechOptions): Promise<{ bytes: Uint8Array; seconds: number }> {
  const pcm = pcmOf(speech.text, speech.voice, speech.speed)
  return { bytes: await encoders[speech.format](pcm, SPEECH_RATE), seconds: pcm.length / SPEECH_RATE }
}
