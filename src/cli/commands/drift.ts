// understudy drift: asks providers recorded requests again, and reports how their responses have changed.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { isBeside } from '../../cassettes/names.ts'
import { readCassette } from '../../cassettes/read.ts'
import { ConfigError, readConfig } from '../../config.ts'
import type { Cassette, UpstreamRequest } from '../../contract/core/cassette.ts'
import { askProviders, costLimit } from '../../drift/ask.ts'
import { driftExit, findDrift } from '../../drift/drift.ts'
import { lazy } from '../../lib/lazy.ts'
import { suggestion } from '../../lib/likely-name.ts'
import { FileError } from '../../schema/source.ts'
import type { CommandIo, Exiting } from '../io.ts'
import { driftJson, driftLines } from '../print/drift-report.ts'
import { announceAddresses } from '../run/listen.ts'
import { durationOf } from './command-flags.ts'

const schemas = lazy<typeof import('../run/response-schemas.ts')>(() => require('../run/response-schemas.ts'))

interface Options {
  only?: string
  maxCost: string
  timeout: string
  json?: boolean
  config?: string
}
const EXIT_CODES = `
Exit code, the highest that applies:
  0  all the same, or changes that are warnings or information
  4  a change that is an error
  5  something could not be compared: a redacted request, no access, no response,
     a response that cannot be read, or the limit on cost`
const JOBS = 4
const MAX_COST = '0.10'
const TIMEOUT = '2m'
/** Sessions that a message lists. */
const MAX_NAMES = 10

/** `understudy drift`: asks providers recorded requests again, and reports how their responses have changed. */
export function driftCommand(io: CommandIo, exiting: Exiting): Command {
  return new Command('drift')
    .description('ask providers recorded requests again, and report how their responses have changed')
    .argument('<PATH...>', 'cassettes, or folders of them')
    .option('--only <NAME>', 'only the cassette of this session')
    .option('--max-cost <USD>', 'ask no more than what costs this much by list price', MAX_COST)
    .option('--timeout <TIME>', 'longest wait for a whole response', TIMEOUT)
    .option('--json', 'print the report as JSON')
    .option('--config <FILE>', 'settings file with your providers (default: understudy.yaml, if it exists)')
    .addHelpText('after', EXIT_CODES)
    .action(exiting((paths: string[], options: Options) => drift(io, paths, options)))
}

async function drift(io: CommandIo, paths: readonly string[], options: Options): Promise<number> {
  const timeout = durationOf('--timeout', options.timeout)
  const limit = costLimit(costOf(options.maxCost))
  const cassettes = only(paths.flatMap(cassettesIn), options.only)
  const config = readConfig(
    { backend: 'forward', ...(options.config !== undefined && { config: options.config }) },
    io.env,
  )
  announceAddresses(io, config)
  const stop = new AbortController()
  const heard = io.signals.onStop(() => stop.abort())
  try {
    const records = await findDrift(cassettes, {
      ask: askProviders(config.forwarding.upstreams, { timeout, signal: stop.signal }),
      schemasOf,
      refusal: (interaction) => (stop.signal.aborted ? 'the command was stopped' : limit.refusal(interaction)),
      jobs: JOBS,
    })
    if (options.json) io.stdout.json(driftJson(records, limit))
    else io.stdout.lines(driftLines(records, limit))
    return driftExit(records)
  } finally {
    heard()
  }
}

function costOf(text: string): number {
  const cost = Number(text)
  if (text.trim() !== '' && Number.isFinite(cost) && cost >= 0) return cost
  throw new ConfigError(`--max-cost must be a number of USD such as 0.10, got ${JSON.stringify(text)}`)
}

/** The cassettes in a file or folder. Other files of a folder, such as blobs, are none, nor are recordings beside a cassette. */
function cassettesIn(path: string): Cassette[] {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory()
  if (!isFolder) return [readCassette(path)]
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml') && !isBeside(name))
    .sort()
  if (files.length === 0) throw new FileError(`${path} has no cassettes: record some with 'understudy record'`)
  const problems: string[] = []
  const cassettes = files.flatMap((name) => {
    try {
      return [readCassette(join(path, name))]
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      problems.push(...error.problems)
      return []
    }
  })
  if (problems.length > 0) throw new FileError(problems)
  return cassettes
}

function only(cassettes: readonly Cassette[], name: string | undefined): readonly Cassette[] {
  if (name === undefined) return cassettes
  const found = cassettes.filter(({ header }) => header.session === name)
  if (found.length > 0) return found
  const names = cassettes.map(({ header }) => header.session)
  const more = names.length - MAX_NAMES
  const shown = [...names.slice(0, MAX_NAMES), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  throw new ConfigError(
    `--only ${JSON.stringify(name)}: there is no cassette of this session${suggestion(name, names)}; sessions: ${shown}`,
  )
}

const schemasOf = ({ operation, path }: UpstreamRequest) =>
  schemas().schemasFor(/\/messages(?:\?|$)/.test(path) ? 'messages' : operation)
