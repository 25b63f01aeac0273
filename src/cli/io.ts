// All that commands have of their process: its environment, its streams and its signals. Nothing else in this folder knows the process, so
// that a command can be run as a function.
import { styleText } from 'node:util'
import type { Environment } from '../config.ts'
import { once } from '../lib/once.ts'
import { standardErrorLines } from './print/line-writer.ts'
import { createLog, type Log } from './print/log.ts'
import { type OutputStream, type Printer, printer } from './print/output.ts'
import { processStops, type StopSignals } from './run/stop-signals.ts'

/** What a command reads, prints on and is stopped by. */
export interface CommandIo {
  env: Environment
  /** What somebody has asked for. */
  stdout: Printer
  /** What is said beside it. */
  stderr: Printer
  /** Lines on standard error about what happens while a command runs. */
  log: Log
  /** What asks the command to end. */
  signals: StopSignals
  /** Calls a function when standard input has ended, whatever was in it. */
  onInputEnd(then: () => void): void
  /** Bytes of memory that the process has. */
  memory(): number
}

/** The real one. Streams are touched when they are first used: that is work which a start need not wait for. */
export function processIo(): CommandIo {
  // Who reads what is printed may go: what a command does, and its exit code, stay the same.
  const out = once(() => process.stdout.on('error', () => {}))
  const err = once(() => process.stderr.on('error', () => {}))
  // The console waits until a line is written, so that no end of the process comes before.
  const stdout = outputStream(out, (text) => console.log(text))
  const stderr = outputStream(err, (text) => console.error(text))
  return {
    env: process.env,
    stdout: printer(stdout),
    stderr: printer(stderr),
    log: createLog(standardErrorLines(() => stderr.colours)),
    signals: processStops(),
    onInputEnd: (then) => void process.stdin.on('end', then).resume(),
    memory: residentBytes,
  }
}

/** 0 where the system does not say, as while too many files are open. */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return 0
  }
}

function outputStream(stream: () => NodeJS.WriteStream, writeLine: (text: string) => void): OutputStream {
  const colours = once(() => styleText('red', ' ', { stream: stream() }) !== ' ')
  return {
    get isTTY() {
      return stream().isTTY
    },
    get columns() {
      return stream().columns
    },
    get colours() {
      return colours()
    },
    writeLine,
    write: (text) => void stream().write(text),
  }
}
