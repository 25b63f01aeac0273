// The flags of `npm run bench`.
import { parseArgs } from 'node:util'

/** What can be measured; `--only` chooses among them. */
export const SECTIONS = [
  'whole',
  'stream',
  'forward',
  'first-event',
  'start',
  'memory',
  'sessions',
  'histories',
  'explore',
  'telemetry',
  'recording',
] as const
export type Section = (typeof SECTIONS)[number]

/** What was asked for. */
export interface Options {
  only: readonly Section[]
  rounds: number
  /** Length of one load. */
  seconds: number
  /** Another commit that is measured too. */
  against?: string | undefined
  peer: boolean
  record: boolean
}

/** A mistake of whoever calls, or something that this machine lacks: printed as one line. */
export class BenchError extends Error {}

const PEERS = ['aimock']
const FLAGS = {
  only: { type: 'string', multiple: true, default: [] as string[] },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '1' },
  against: { type: 'string' },
  peer: { type: 'string' },
  record: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const HELP = `npm run bench -- [flags]: measures Understudy beside a constant server and a small skeleton, and prints one table

  --only NAME       only these; repeatable: ${SECTIONS.join(', ')}
  --rounds N        rounds, in each of which every server has its turn (default: ${FLAGS.rounds.default})
  --seconds N       length of one load (default: ${FLAGS.seconds.default})
  --against COMMIT  builds that commit too, and measures it in the same rounds
  --peer NAME       measures a peer too: ${PEERS.join(', ')}
  --record          appends a line to bench/history.md

Others measure what is not in the table: npm run bench store, npm run bench stalls; npm run bench kill kills the server 1,000 times.`

function countOf(flag: string, text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new BenchError(`--${flag} ${JSON.stringify(text)} is no whole number from 1 to 999`)
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS, allowPositionals: true })
  } catch (error) {
    const flags = Object.keys(FLAGS).map((name) => `--${name}`)
    throw new BenchError(`${(error as Error).message.split('. To specify')[0]}; flags: ${flags.join(' ')}`)
  }
}

/** Reads the arguments; ends the program after `--help`. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parsed(args)
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  if (positionals[0] !== undefined) {
    throw new BenchError(
      `unknown argument ${JSON.stringify(positionals[0])}: npm needs -- before flags (npm run bench -- --only whole), and the other benches are store, stalls and kill`,
    )
  }
  const only = values.only.map((name) => {
    const section = SECTIONS.find((one) => one === name)
    if (section) return section
    throw new BenchError(`--only ${JSON.stringify(name)} is unknown; valid: ${SECTIONS.join(', ')}`)
  })
  if (values.peer !== undefined && !PEERS.includes(values.peer)) {
    throw new BenchError(`--peer ${JSON.stringify(values.peer)} is unknown; valid: ${PEERS.join(', ')}`)
  }
  return {
    only: only.length > 0 ? only : SECTIONS,
    rounds: countOf('rounds', values.rounds),
    seconds: countOf('seconds', values.seconds),
    against: values.against,
    peer: values.peer !== undefined,
    record: values.record,
  }
}
