// Lines that a running server prints on standard error. It never waits for who reads them, and outlives them: a reader may be
// slow, stop or go (a closed pipe or terminal, a full disk).
import { writeSync } from 'node:fs'
import { realClock } from '../../lib/clock.ts'
import { once } from '../../lib/once.ts'
import { safeLine } from './output.ts'

/** Characters that wait to be read. */
const MAX_WAITING = 4_000_000
/** How long lines wait for others to go with. */
const TOGETHER_MS = 25
const STDERR = 2

/** Takes lines, each of which is printed as one. */
export interface LineWriter {
  add(line: string): void
}

/**
 * Makes a writer of lines to standard error; what is not read in time, or cannot be written, is left out and counted.
 * @param leftOut the line that tells of so many lines left out
 */
export type MakeLineWriter = (leftOut: (count: number) => string) => LineWriter

/**
 * What makes writers to the standard error of this process; those of one maker write into no line of each other's.
 * @param colours whether standard error shows colours
 */
export function standardErrorLines(colours: () => boolean): MakeLineWriter {
  const sink = once(() => Bun.stderr.writer())
  let previous: Promise<unknown> = Promise.resolve()
  /** Writes one text after the other, so that lines stay whole; rejects when it could not be written. */
  const writeText = (text: string): Promise<void> => {
    const written = previous.then(async () => {
      // Both tell of what is wrong: the one when there is nothing to wait for, the other when there is.
      await sink().write(text)
      await sink().flush()
    })
    previous = written.catch(() => {})
    return written
  }
  return (leftOut) => {
    let waiting: string[] = []
    let length = 0
    let dropped = 0
    let writing = false
    const take = (): string => {
      const lines = dropped === 0 ? waiting : [...waiting, leftOut(dropped)]
      waiting = []
      length = 0
      dropped = 0
      return `${lines.join('\n')}\n`
    }
    const write = async () => {
      while (waiting.length > 0) {
        await realClock.sleep(TOGETHER_MS)
        const [count, earlier] = [waiting.length, dropped]
        await writeText(take()).catch(() => {
          dropped += count + earlier
        })
      }
      writing = false
    }
    // What came last goes out at the end, if somebody reads it.
    process.on('exit', () => {
      try {
        if (waiting.length > 0) writeSync(STDERR, take())
      } catch {}
    })
    return {
      add(given) {
        const line = safeLine(given, colours())
        if (length + line.length > MAX_WAITING) {
          dropped++
          return
        }
        waiting.push(line)
        length += line.length
        if (writing) return
        writing = true
        void write()
      },
    }
  }
}
