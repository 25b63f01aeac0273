// The machine that is measured on: its cores, who else uses them, and what it is.
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'

/** Cores for the servers and for what calls them; without them the system decides. */
export interface Cores {
  server: number
  load: number
}

/** What /proc counts in: the same on every Linux of today. */
const TICKS_PER_SECOND = 100

/** The cores this process may use, as `taskset` lists them ("0-3,6"). */
function allowedCores(): number[] {
  const { stdout, exitCode } = Bun.spawnSync(['taskset', '-cp', String(process.pid)])
  if (exitCode !== 0) return []
  const list = stdout.toString().split(':').at(-1)?.trim() ?? ''
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

/** The last core for the servers and the one before for their callers; a sentence when they cannot be kept apart. */
export function chooseCores(): { cores?: Cores; warning?: string } {
  if (!Bun.which('taskset'))
    return { warning: 'taskset is missing (Debian: util-linux): servers and load share all cores' }
  const [server, load] = allowedCores().toReversed()
  if (server === undefined || load === undefined) return { warning: 'there is one core: servers and load share it' }
  return { cores: { server, load } }
}

/** Keeps a process, and what it starts from now on, on one core. */
export function stayOn(core: number, pid = process.pid): void {
  Bun.spawnSync(['taskset', '-acp', String(core), String(pid)])
}

/** Microseconds of processor time that a process has used in all its threads, or in its first one; nothing where there is no /proc. */
export function cpuOf(pid: number, part: 'all' | 'first' = 'all'): number | undefined {
  try {
    // The name in parentheses may hold spaces; utime and stime are the 14th and 15th field.
    const fields =
      readFileSync(part === 'all' ? `/proc/${pid}/stat` : `/proc/${pid}/task/${pid}/stat`, 'utf8')
        .split(') ')
        .at(-1)
        ?.split(' ') ?? []
    return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND
  } catch {
    return undefined
  }
}

/** Bytes of memory that a process occupies. */
export const memoryOf = (pid: number): number =>
  Number(Bun.spawnSync(['ps', '-o', 'rss=', '-p', String(pid)]).stdout.toString()) * 1024

/** Microseconds in which some cores were busy, with what the machine under this one took of them. */
export function busyOf({ server, load }: Cores): number | undefined {
  try {
    let ticks = 0
    for (const line of readFileSync('/proc/stat', 'utf8').split('\n')) {
      const [name, user, nice, system, , , , , steal] = line.split(/ +/)
      if (name === `cpu${server}` || name === `cpu${load}`) {
        ticks += Number(user) + Number(nice) + Number(system) + Number(steal)
      }
    }
    return (ticks * 1e6) / TICKS_PER_SECOND
  } catch {
    return undefined
  }
}

/** What kind of machine it is: no name, no address. */
export function machineKind(): string {
  const all = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return `${all.length} x ${all[0]?.model.trim()}, ${gigabytes} GiB, ${process.platform} ${process.arch}`
}
