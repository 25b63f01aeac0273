// Reads the settings file: each setting with its file and line, for errors.
import { readFileSync } from 'node:fs'
import { suggestion } from '../lib/likely-name.ts'
import { shownAddress, withoutSecrets } from '../lib/secrets.ts'
import { type Yaml, yaml } from '../lib/yaml.ts'
import { quote } from '../schema/validation.ts'
import { FILE_LIMITS, type ReadYaml, readYaml, YamlError } from '../schema/yaml-text.ts'

/**
 * An invalid setting; the message is one line with the value and what is valid.
 * @example
 * new ConfigError("'port' must be at most 65535, got 70000").message // => "'port' must be at most 65535, got 70000"
 */
export class ConfigError extends Error {}

/** How much of a setting's value may be shown: all of it, a URL without secrets, or nothing. */
export type Shown = 'whole' | 'address' | 'nothing'

/** A value as an error quotes it, with a space before it. Errors end up in logs, which many people may read. */
export function quoteSetting(value: unknown, shown: Shown = 'whole'): string {
  if (shown === 'nothing') return ''
  const isAddress = shown === 'address' && typeof value === 'string'
  return ` ${isAddress ? quote(shownAddress(value)) : withoutSecrets(quote(value))}`
}

/**
 * The error for an invalid value.
 * @param quoted the value as `quoteSetting` returns it
 */
export const mustBe = (source: string, valid: string, quoted: string): string =>
  `${source} must be ${valid}${quoted === '' ? '' : `, got${quoted}`}`

/** The type of a value that may contain a secret. */
export const describeKind = (value: unknown): string => {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}

/** A value and its source. */
export interface SettingValue {
  value: unknown
  source: string
}

/** The section `providers`: its value, and the position (file and line) of each key in it. */
export interface ProvidersSection {
  value: unknown
  locationOf(path: readonly string[]): string
}

/** Default name of the settings file. */
export const SETTINGS_FILE = 'understudy.yaml'
const PROVIDERS = 'providers'
/**
 * The content of the settings file; the default one need not exist.
 * @throws ConfigError if it cannot be used
 */
export function readConfigFile(named: string | undefined, keys: readonly string[]) {
  const path = named ?? SETTINGS_FILE
  const text = readText(path)
  if (text === undefined) {
    if (named !== undefined) throw new ConfigError(`settings file ${quote(path)} does not exist`)
    return { settings: new Map<string, SettingValue>() }
  }
  const lines = new (yaml().LineCounter)()
  const lineOf = (offset: number) => `${path}:${lines.linePos(offset).line}`
  const { document, value } = parsed(text, lines, lineOf)
  const values = value ?? {}
  if (typeof values !== 'object' || Array.isArray(values)) {
    throw new ConfigError(
      `${path} must be a mapping of settings, got ${describeKind(values)}; valid: ${keys.join(', ')}`,
    )
  }
  const locationOf = (keyPath: readonly string[]) => {
    const node = document.getIn(keyPath, true) as { range?: [number] } | undefined
    return lineOf(node?.range?.[0] ?? 0)
  }
  const { [PROVIDERS]: providers, ...rest } = values as Record<string, unknown>
  const settings = new Map(
    Object.entries(rest).map(([key, value]) => {
      const source = `${locationOf([key])}: ${key}`
      if (!keys.includes(key)) {
        throw new ConfigError(
          `${source} is not a setting${suggestion(key, keys)}; valid: ${[...keys, PROVIDERS].join(', ')}`,
        )
      }
      return [key, { value, source }] as const
    }),
  )
  if (providers === undefined) return { settings }
  // Providers have no flag and no variable, only a section in the file.
  const inSection = (keyPath: readonly string[]) => locationOf([PROVIDERS, ...keyPath])
  return { settings, section: { value: providers, locationOf: inSection } satisfies ProvidersSection }
}

/** Parses the text. Its mistakes are errors of the settings. */
function parsed(text: string, lines: InstanceType<Yaml['LineCounter']>, lineOf: (offset: number) => string): ReadYaml {
  try {
    return readYaml(text, lines, FILE_LIMITS)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw new ConfigError(`${lineOf(error.offset)}: ${withoutSource(error.message)}`)
  }
}

/** A message of the parser without the quoted part of the file. */
const withoutSource = (message: string) => withoutSecrets(message.replace(/: ".*"$/s, ''))

/** The text of a file; undefined if there is none. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === 'ENOENT') return undefined
    throw new ConfigError(`settings file ${quote(path)} cannot be read: ${message}`)
  }
}
