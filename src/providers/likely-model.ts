// Which known model somebody probably meant who wrote another, and which names are none that anybody knows.
import { lettersBetween } from '../lib/likely-name.ts'
import { globRegex } from '../lib/match.ts'
import { modelOf } from './catalogue.ts'
import { knownModels } from './names.ts'

/** Shorter names have little that could be wrong. */
const SHORT = 8
/** What may stand behind the name of a model without making it another. */
const VERSION = /[-:@](?:\d{4}[\d-]*|latest|preview)$/

/** The known model that a pattern is nearly, undefined when it matches one, or is like none. */
export function likelyModel(pattern: string, models: readonly string[]): string | undefined {
  // A scenario may name a model alone.
  const names = pattern.includes('/') ? models : models.map((id) => id.slice(id.indexOf('/') + 1))
  const given = pattern.split('*', 1)[0] ?? ''
  const isGlob = given !== pattern
  const written = given.replace(VERSION, '')
  const isKnown = (name: string) => (isGlob ? globRegex(pattern).test(name) : name === given || name === written)
  if (names.some(isKnown)) return undefined
  const most = written.slice(written.indexOf('/') + 1).length < SHORT ? 1 : 2
  const candidates = names.flatMap((name) => {
    const beginnings = isGlob ? [1, 0, -1].map((more) => name.slice(0, written.length + more)) : [name]
    return beginnings.map((text) => ({ text, name, wrong: mistakesBetween(text, written) }))
  })
  // Another number is another version, which we may not know yet.
  if (candidates.some(({ text }) => numberless(text) === numberless(written))) return undefined
  const near = candidates.filter(({ text, wrong }) => wrong <= most && !isVariant(text, written))
  return near.toSorted((one, other) => one.wrong - other.wrong || other.text.length - one.text.length)[0]?.name
}

const isVariant = (name: string, written: string) => written.startsWith(name) && /\d/.test(written.slice(name.length))
const numberless = (text: string) => text.replace(/[\d.]+/g, '#')

/** Two letters in the wrong order are one mistake. */
function mistakesBetween(one: string, other: string): number {
  const wrong = lettersBetween(one, other)
  return wrong === 2 && [...one].sort().join('') === [...other].sort().join('') ? 1 : wrong
}

/** What the names of all models of a provider begin with, those included that we know nothing else of. */
const FAMILIES: Readonly<Record<string, RegExp>> = {
  openai: /^(?:gpt|chatgpt|o\d|codex|computer|dall|davinci|babbage|ft:|omni|sora|text|tts|whisper)/,
  anthropic: /^claude/,
  google: /^(?:gemini|gemma|imagen|learnlm|text|veo|embedding)/,
  deepseek: /^deepseek/,
  xai: /^grok/,
}
/** Shorter words are like many others. */
const SHORT_WORD = 4

/** What is wrong with the name of a model that there cannot be: it is misspelt, or no provider's own. Undefined for any that there may be. */
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
    const meant = known.includes(word) ? undefined : known.find((one) => lettersBetween(one, word) === 1)
    if (meant !== undefined) return `no such model is known (did you mean '${meant}' by '${word}'?)`
  }
  return undefined
}

const wordsIn = (name: string): string[] => name.split(/[^a-z]+/).filter((word) => word.length >= SHORT_WORD)
