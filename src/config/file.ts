// Reads the settings file: each setting with the file and line it came from, for the errors.
import { readFileSync } from 'node:fs'
import { suggestion } from '../lib/likely-name.ts'
import { shownAddress, withoutSecrets } from '../lib/secrets.ts'
import { type Yaml, yaml } from '../lib/yaml.ts'
import { quote } from '../schema/validation.ts'
import { FILE_LIMITS, type ReadYaml, readYaml, YamlError } from '../schema/yaml-text.ts'

/**
 * A setting that cannot be used; the message is one line that names the value and what would be valid.
 * @example
 * new ConfigError("'port' must be at most 65535, got 70000").message // => "'port' must be at most 65535, got 70000"
 */
export class ConfigError extends Error {}

/** What may be shown of the value of a setting: all of it, what is no secret of an address, or nothing. */
export type Shown = 'whole' | 'address' | 'nothing'

/** A value as an error quotes it, with a space before it: errors end up in logs, which many may read. */
export function quoteSetting(value: unknown, shown: Shown = 'whole'): string {
  if (shown === 'nothing') return ''
  const isAddress = shown === 'address' && typeof value === 'string'
  return ` ${isAddress ? quote(shownAddress(value)) : withoutSecrets(quote(value))}`
}

/**
 * The error for a value that is not valid.
 * @param quoted the value as `quoteSetting` gives it
 */
export const mustBe = (source: string, valid: string, quoted: string): string =>
  `${source} must be ${valid}${quoted === '' ? '' : `, got${quoted}`}`

/** What a value is, where it may have any secret in it. */
export const describeKind = (value: unknown): string => {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}

/** A value, and where it came from. */
export interface SettingValue {
  value: unknown
  source: string
}

/** The section `providers`: its value, and the place (file and line) of each key in it. */
export interface ProvidersSection {
  value: unknown
  locationOf(path: readonly string[]): string
}

/** Name of the settings file that is read when no other is named. */
export const SETTINGS_FILE = 'understudy.yaml'
const PROVIDERS = 'providers'
/** What a settings file holds. */
interface FileSettings {
  settings: Map<string, SettingValue>
  /** The providers have no flag and no variable: they are a section of the file alone. */
  section?: ProvidersSection
}

/** What the settings file says; the one called `understudy.yaml` need not be there. Throws `ConfigError` when it cannot be used. */
export function readConfigFile(named: string | undefined, keys: readonly string[]): FileSettings {
  const path = named ?? SETTINGS_FILE
  const text = readText(path)
  if (text === undefined) {
    if (named !== undefined) throw new ConfigError(`settings file ${quote(path)} does not exist`)
    return { settings: new Map() }
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
  return { settings, section: { value: providers, locationOf: (keyPath) => locationOf([PROVIDERS, ...keyPath]) } }
}

/** Parses the text; its mistakes are those of the settings. */
function parsed(text: string, lines: InstanceType<Yaml['LineCounter']>, lineOf: (offset: number) => string): ReadYaml {
  try {
    return readYaml(text, lines, FILE_LIMITS)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw new ConfigError(`${lineOf(error.offset)}: ${withoutSource(error.message)}`)
  }
}

/** A message of the parser without the part of the file that it quotes. */
const withoutSource = (message: string) => withoutSecrets(message.replace(/: ".*"$/s, ''))

/** The text of a file, undefined when there is none. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === 'ENOENT') return undefined
    throw new ConfigError(`settings file ${quote(path)} cannot be read: ${message}`)
  }
}
