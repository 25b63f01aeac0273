// The process as commands see it: environment, streams and signals. Nothing else in this folder uses the process, so
// that a command can be run as a function.
import { fstatSync } from 'node:fs'
import type { Environment } from '../config.ts'
import { once } from '../lib/once.ts'
import { standardErrorLines } from './print/line-writer.ts'
import { createLog, type Log } from './print/log.ts'
import { type OutputStream, type Printer, printer, showsColours } from './print/output.ts'
import { processStops, type StopSignals } from './run/stop-signals.ts'

/** What a command reads from, prints to and is stopped by. */
export interface CommandIo {
  env: Environment
  /** Requested output. */
  stdout: Printer
  /** Messages beside the output. */
  stderr: Printer
  /** Log lines on standard error while a command runs. */
  log: Log
  /** Signals that stop the command. */
  signals: StopSignals
  /** Calls a function when standard input has ended, whatever it contained. */
  onInputEnd(then: () => void): void
  /** Standard input if it is a pipe or a file. Undefined for a terminal or a device, and if it is closed. */
  pipedInput(): ReadableStream<Uint8Array> | undefined
  /** Bytes of memory that the process has. */
  memory(): number
}

/** Converts a function that returns an exit code to an action of commander, after which the command ends with it. */
export type Exiting = <Arguments extends unknown[]>(
  run: (...args: Arguments) => Promise<number>,
) => (...args: Arguments) => Promise<void>

/** The real one. Streams are opened on first use, so that they do not slow the start. */
export function processIo(): CommandIo {
  // If the reader of the output closes it, the command continues with the same exit code.
  const out = once(() => process.stdout.on('error', () => {}))
  const err = once(() => process.stderr.on('error', () => {}))
  // The console waits until a line is written, so that the process cannot end before.
  const stdout = outputStream(out, (text) => console.log(text))
  const stderr = outputStream(err, (text) => console.error(text))
  return {
    env: process.env,
    stdout: printer(stdout),
    stderr: printer(stderr),
    log: createLog(standardErrorLines(() => stderr.colours)),
    signals: processStops(),
    onInputEnd: (then) => void process.stdin.on('end', then).resume(),
    pipedInput: () => (isPiped() ? Bun.stdin.stream() : undefined),
    memory: residentBytes,
  }
}

function isPiped(): boolean {
  try {
    const input = fstatSync(0)
    return input.isFile() || input.isFIFO() || input.isSocket()
  } catch {
    return false
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
  const colours = once(() => showsColours(stream()))
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
