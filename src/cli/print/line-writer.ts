// Lines that a running server prints on standard error. It never waits for a reader, and survives it: a reader may be
// slow, stop or go away (a closed pipe or terminal, a full disk).
import { writeSync } from 'node:fs'
import { realClock } from '../../lib/clock.ts'
import { once } from '../../lib/once.ts'
import { safeLine } from './output.ts'

/** Maximum number of characters that wait to be read. */
const MAX_WAITING = 4_000_000
/** Time for which lines are collected before they are written. */
const TOGETHER_MS = 25
const STDERR = 2

/** Writes lines. */
export interface LineWriter {
  add(line: string): void
}

/**
 * Creates a writer of lines to standard error. Lines that are not read in time, or cannot be written, are dropped and
 * counted.
 * @param leftOut the line that reports the number of dropped lines
 */
export type MakeLineWriter = (leftOut: (count: number) => string) => LineWriter

/**
 * A factory of writers to the standard error of this process. Writers of one factory do not interleave within a line.
 * @param colours whether standard error shows colors
 */
export function standardErrorLines(colours: () => boolean): MakeLineWriter {
  const sink = once(() => Bun.stderr.writer())
  let previous: Promise<unknown> = Promise.resolve()
  /** Writes one text after the other, so that lines stay whole. Rejects if it could not be written. */
  const writeText = (text: string): Promise<void> => {
    const written = previous.then(async () => {
      // Both report errors: one synchronously, the other when awaited.
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
    // The last lines are written at the end, if someone reads them.
    process.on('exit', () => {
      try {
        if (waiting.length > 0) writeSync(STDERR, take())
      } catch {}
    })
    return {
      add(added) {
        const line = safeLine(added, colours)
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
