// The command line as a function: what a command prints and ends with, without a process.
import { tmpdir } from 'node:os'
import { runCli } from '../../src/cli/index.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { createLog } from '../../src/cli/print/log.ts'
import { type OutputStream, printer, safeLine } from '../../src/cli/print/output.ts'
import type { StopCause } from '../../src/cli/run/stop-signals.ts'
import type { Finished, Server } from './server.ts'

/** How the streams of a command are; a pipe that shows no colours unless told otherwise. */
interface Terminal {
  isTTY?: boolean
  columns?: number
  colours?: boolean
}

/** A stream that keeps what is printed on it. */
function keptStream({ isTTY = false, columns = 0, colours = false }: Terminal): OutputStream & { text: string } {
  const stream = {
    ...{ isTTY, columns, colours, text: '' },
    writeLine: (line: string) => stream.write(`${line}\n`),
    write(text: string) {
      stream.text += text
    },
  }
  return stream
}

/** What a command may be given, and what it has printed. */
export interface TestIo extends CommandIo {
  readonly printed: { stdout: string; stderr: string }
  /** Asks the command to end, as a signal would. */
  stop(cause: StopCause): void
}

/** The environment, the streams and the signals of a command that is run in this process. */
export function testIo(
  env: Record<string, string> = {},
  terminal: Terminal = { colours: env.FORCE_COLOR === '1' },
): TestIo {
  const stdout = keptStream(terminal)
  const stderr = keptStream(terminal)
  const listeners = new Set<(cause: StopCause) => void>()
  return {
    env,
    stdout: printer(stdout),
    stderr: printer(stderr),
    log: createLog(() => ({ add: (line) => stderr.writeLine(safeLine(line, () => stderr.colours)) })),
    signals: {
      onStop(hear) {
        listeners.add(hear)
        return () => listeners.delete(hear)
      },
      endWith() {},
    },
    onInputEnd() {},
    pipedInput: () => undefined,
    // That of the process is the memory of all test files, and collecting their garbage takes a second.
    memory: () => 0,
    get printed() {
      return { stdout: stdout.text, stderr: stderr.text }
    },
    stop(cause) {
      for (const hear of listeners) hear(cause)
    },
  }
}

/** How long a command may take, in ms; longer where it runs other programs, on a machine that may be busy. */
const limitOf = ([command = '']: readonly string[]) => (['exec', 'explore'].includes(command) ? 120_000 : 10_000)
/** Commands that run or wait: the folder is that of the whole process, so there is one at a time. */
let queue: Promise<unknown> = Promise.resolve()

/** Does something in a folder, when nobody else does. */
function inFolder<T>(cwd: string, act: () => Promise<T>): Promise<T> {
  const done = queue.then(async () => {
    const before = process.cwd()
    process.chdir(cwd)
    try {
      return await act()
    } finally {
      process.chdir(before)
    }
  })
  queue = done.catch(() => {})
  return done
}

/** Where a command is run, and with which environment. */
interface Place {
  cwd?: string
  env?: Record<string, string>
  terminal?: Terminal
}

/** Runs a command to its end in this process, in a folder: for whatever is no matter of the executable itself. */
export function runCommand(
  args: readonly string[],
  { cwd = tmpdir(), env = {}, terminal }: Place = {},
): Promise<Finished> {
  return inFolder(cwd, async () => {
    const io = testIo(env, terminal)
    // A server that starts where it should not is asked to end, so that its test fails and not all that wait.
    const late = setTimeout(() => io.stop('SIGTERM'), limitOf(args))
    const code = await runCli(args, io).finally(() => clearTimeout(late))
    return { code, ...io.printed }
  })
}

/** A server of this process. */
export interface OwnProcessServer extends Server {
  /** What it has printed on stderr so far. */
  stderr(): string
}

/**
 * Starts `understudy serve --json` in this process, on a free port unless `args` name one; resolves when it is ready. The folder is its
 * own only while it starts: what it reads later needs whole paths.
 */
export async function serveHere(
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: Place,
): Promise<OwnProcessServer> {
  const io = testIo(env)
  const { promise, resolve } = Promise.withResolvers<string>()
  const line = ['serve', '--port', '0', '--json', ...args]
  const { ended, ready } = await inFolder(cwd, async () => {
    const running = runCli(line, { ...io, stdout: { ...io.stdout, text: resolve } })
    const failed = running.then((code) => {
      throw new Error(`the server ended with ${code}: ${io.printed.stderr}`)
    })
    return { ended: running, ready: JSON.parse(await Promise.race([promise, failed])) as Record<string, unknown> }
  })
  return {
    url: String(ready.url),
    pid: process.pid,
    ready,
    stderr: () => io.printed.stderr,
    stop(signal = 'SIGTERM') {
      io.stop(signal as StopCause)
      return ended
    },
  }
}

/** Lines as they are printed where no colours are shown. */
export const plainLines = (lines: readonly string[]): string[] => lines.map((line) => safeLine(line, () => false))
