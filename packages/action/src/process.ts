// Programs that the action runs, and the server that it leaves running.
import { spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { workFolder } from './inputs.ts'

/** What a program left. */
export interface Ended {
  code: number
  stdout: string
}

/** What a step that runs a command has in its environment: the token of the runner is for actions alone. */
function environment(): NodeJS.ProcessEnv {
  const { ACTIONS_RUNTIME_TOKEN: _, ...rest } = process.env
  return rest
}

/** Runs a program to its end and takes what it prints; what it complains of goes where our complaints go. */
export function runProgram(executable: string, args: readonly string[]) {
  return new Promise<Ended>((resolve, reject) => {
    const child = spawn(executable, [...args], { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.on('error', (error) => reject(unusable(executable, error)))
    child.on('close', (code) => resolve({ code: code ?? 1, stdout }))
  })
}

/** Runs a program to its end in a folder, and shows what it prints; gives its exit code. */
export function runShown(executable: string, args: readonly string[], cwd: string) {
  return new Promise<number>((resolve, reject) => {
    const child = spawn(executable, [...args], { cwd, env: environment(), stdio: ['ignore', 'inherit', 'inherit'] })
    child.on('error', (error) => reject(unusable(executable, error)))
    child.on('close', (code) => resolve(code ?? 1))
  })
}

const unusable = (executable: string, { message }: Error) => new Error(`${executable} cannot be run: ${message}`)

/** A server that goes on when the action has ended. */
export interface LeftServer {
  url: string
  pid: number
}

const MAX_START_MS = 60_000
const LOOK_AGAIN_MS = 50

/** Starts a server and waits until its ready file says that it answers. */
export async function leaveServer(executable: string, flags: readonly string[], cwd: string): Promise<LeftServer> {
  const ready = join(workFolder(), 'ready.json')
  const log = join(workFolder(), 'server.log')
  rmSync(ready, { force: true })
  const output = openSync(log, 'w', 0o600)
  const args = ['serve', '--port', '0', '--db', ':memory:', '--ready-file', ready, ...flags]
  const child = spawn(executable, args, { cwd, env: environment(), detached: true, stdio: ['ignore', output, output] })
  child.unref()
  let ended: string | undefined
  child.on('error', (error) => (ended = unusable(executable, error).message))
  child.on('exit', (code) => (ended = `it exited with code ${code}`))
  for (let waited = 0; waited < MAX_START_MS && ended === undefined; waited += LOOK_AGAIN_MS) {
    if (existsSync(ready)) {
      const { url, pid } = JSON.parse(readFileSync(ready, 'utf8'))
      return { url, pid }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
  const said = readFileSync(log, 'utf8').trim()
  throw new Error(`the server did not start: ${said || ended || `it was not ready after ${MAX_START_MS / 1000} s`}`)
}
