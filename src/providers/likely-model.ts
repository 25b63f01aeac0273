// Suggests models for misspelled names, and detects names that no model has.
import { lettersBetween } from '../lib/likely-name.ts'
import { globRegex } from '../lib/match.ts'
import { knownModels, modelOf } from './catalogue.ts'

/** Shorter names may have one mistake, longer ones two. */
const SHORT = 8
/** Suffixes of a model name that do not make it another model. */
const VERSION = /[-:@](?:\d{4}[\d-]*|latest|preview)$/

/** The model that a misspelled name or pattern probably means. Undefined if it matches a model or resembles none. */
export function likelyModel(pattern: string, models: readonly string[]): string | undefined {
  // A scenario may omit the provider.
  const names = pattern.includes('/') ? models : models.map((id) => id.slice(id.indexOf('/') + 1))
  const prefix = pattern.split('*', 1)[0] ?? ''
  const isGlob = prefix !== pattern
  const written = prefix.replace(VERSION, '')
  const isKnown = (name: string) => (isGlob ? globRegex(pattern).test(name) : name === prefix || name === written)
  if (names.some(isKnown)) return undefined
  const maxMistakes = written.slice(written.indexOf('/') + 1).length < SHORT ? 1 : 2
  const candidates = names.flatMap((name) => {
    const beginnings = isGlob ? [1, 0, -1].map((more) => name.slice(0, written.length + more)) : [name]
    return beginnings.map((text) => ({ text, name, wrong: mistakesBetween(text, written) }))
  })
  // Another number is probably a version that is not listed yet.
  if (candidates.some(({ text }) => numberless(text) === numberless(written))) return undefined
  const near = candidates.filter(({ text, wrong }) => wrong <= maxMistakes && !isVariant(text, written))
  return near.toSorted((one, other) => one.wrong - other.wrong || other.text.length - one.text.length)[0]?.name
}

const isVariant = (name: string, written: string) => written.startsWith(name) && /\d/.test(written.slice(name.length))
const numberless = (text: string) => text.replace(/[\d.]+/g, '#')

/** The number of mistakes between two names. Two swapped letters count as one. */
function mistakesBetween(one: string, other: string): number {
  const wrong = lettersBetween(one, other)
  return wrong === 2 && [...one].sort().join('') === [...other].sort().join('') ? 1 : wrong
}

/** How the model names of a provider begin, including models that are not listed. */
const FAMILIES: Readonly<Record<string, RegExp>> = {
  openai: /^(?:gpt|chatgpt|o\d|codex|computer|dall|davinci|babbage|ft:|omni|sora|text|tts|whisper)/,
  anthropic: /^claude/,
  google: /^(?:gemini|gemma|imagen|learnlm|text|veo|embedding)/,
  deepseek: /^deepseek/,
  xai: /^grok/,
}
/** Shorter words resemble many others. */
const SHORT_WORD = 4

/** What is wrong with the name of a model that cannot exist. Undefined if it may exist. */
export function unlistedModel(model: string): string | undefined {
  const slash = model.indexOf('/')
  const [provider, name] = [model.slice(0, slash), model.slice(slash + 1)]
  const own = knownModels().filter((id) => id.startsWith(`${provider}/`))
  if (own.length === 0) return undefined
  const likely = likelyModel(model, own)
  if (likely !== undefined) return `no such model is known (did you mean '${likely}'?)`
  if (modelOf(model) !== undefined) return undefined
  if (FAMILIES[provider] && !FAMILIES[provider].test(name)) return `${provider} has no such model`
  const known = own.flatMap((id) => wordsIn(id.slice(slash + 1)))
  for (const word of wordsIn(name)) {
    const likelyWord = known.includes(word) ? undefined : known.find((one) => lettersBetween(one, word) === 1)
    if (likelyWord !== undefined) return `no such model is known (did you mean '${likelyWord}' by '${word}'?)`
  }
  return undefined
}

const wordsIn = (name: string): string[] => name.split(/[^a-z]+/).filter((word) => word.length >= SHORT_WORD)
