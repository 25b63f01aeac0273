// The rules of secretlint's recommended preset, run on one text at a time. Its core is left out: it answers later, marks times for a profile
// that is never read, computes lines and columns, and obeys `secretlint-disable` in the text, which here comes from others.
import { lazy } from '../lib/lazy.ts'
import type { SecretFound } from '../lib/secrets.ts'

/** The parts of a rule that are used. Its package refers to types of another one. */
interface Rule {
  meta: { id: string }
  create(context: object, options: object): { file?(source: object): unknown }
}
interface Report {
  message: { id: string; values: Readonly<Record<string, unknown>> | undefined }
  range: readonly [start: number, end: number]
}

const preset = lazy<typeof import('@secretlint/secretlint-rule-preset-recommend')>(() =>
  require('@secretlint/secretlint-rule-preset-recommend'),
)

const PREFIX = '@secretlint/secretlint-rule-'
/** One obeys comments in the text; the other reports whole files, whose private key is found anyway. */
const OMITTED = new Set(['filter-comments', 'gcp'])
/**
 * A text that each rule needs, in lower case. A rule that is not listed always runs. Without it, a text of 1 kB takes ten times as long.
 */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  '1password': ['ops_'],
  anthropic: ['sk-ant-'],
  aws: ['secret'],
  basicauth: ['://'],
  cloudflare: ['cfk_', 'cfut_', 'cfat_'],
  'database-connection-string': ['mongodb', 'mysql', 'postgres'],
  databricks: ['dapi'],
  docker: ['dckr_pat_'],
  figma: ['figd_'],
  github: ['gh', 'github_pat'],
  gitlab: ['glpat-'],
  grafana: ['glc_', 'glsa_'],
  groq: ['gsk_'],
  'hashicorp-vault': ['hvs.', 'hvb.', 'hvr.'],
  huggingface: ['hf_'],
  linear: ['lin_api_'],
  notion: ['ntn_'],
  npm: ['npm_', 'x-oauth-basic', '_authtoken'],
  openai: ['sk-'],
  privatekey: ['private key'],
  sendgrid: ['sg.'],
  shopify: ['shp'],
  slack: ['xox', 'xapp-', 'hooks.slack.com'],
  stripe: ['sk_', 'rk_'],
  tailscale: ['tskey-'],
  vercel: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'],
}

interface PresetRule {
  name: string
  needed: readonly string[] | undefined
  run(text: string): readonly Report[]
}

const rules = lazy((): readonly PresetRule[] => {
  const all: readonly Rule[] = preset().rules
  return all.flatMap((rule) => {
    const name = rule.meta.id.replace(PREFIX, '')
    if (OMITTED.has(name)) return []
    let reports: Report[] = []
    const context = {
      sharedOptions: {},
      createTranslator: () => (id: string, values?: Readonly<Record<string, unknown>>) => ({ id, values }),
      report: (report: Report) => void reports.push(report),
      ignore: () => {},
    }
    const handler = rule.create(context, {})
    const run = (text: string) => {
      reports = []
      handler.file?.({ content: text, contentType: 'text', ext: '', filePath: '' })
      return reports
    }
    return [{ name, needed: NEEDED[name], run }]
  })
})

/** What the rules find in a text, in order. The kind is the name of the rule. */
export function presetSecretsIn(text: string): SecretFound[] {
  const lower = text.toLowerCase()
  const found = rules()
    .filter(({ needed }) => needed === undefined || needed.some((part) => lower.includes(part)))
    .flatMap(({ name, run }) => run(text).flatMap((report) => placeOf(report, text, kindOf(name))))
  return found.sort((one, other) => one.start - other.start)
}

/** Kinds by the names of rules. Others are kinds already. */
const KINDS: Readonly<Record<string, string>> = {
  basicauth: 'url-password',
  'database-connection-string': 'url-password',
  aws: 'aws-key',
  privatekey: 'private-key',
}
const kindOf = (name: string) => KINDS[name] ?? `${name}-key`

/** Where the secret of a report stands. The ranges of some rules begin before it, and are as long as the secret alone. */
function placeOf({ message, range: [start, end] }: Report, text: string, kind: string): SecretFound[] {
  const values = Object.values(message.values ?? {}).filter((value) => typeof value === 'string')
  const places = values.flatMap((value) => {
    const at = value === '' ? -1 : text.indexOf(value, start)
    return at < 0 ? [] : [{ start: at, end: at + value.length, kind }]
  })
  const [longest] = places.sort((one, other) => other.end - other.start - (one.end - one.start))
  return [longest ?? { start, end, kind }]
}
