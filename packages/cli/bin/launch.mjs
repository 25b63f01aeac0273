// Runs a program in our place: it ends when we are stopped, and when the package manager that started us is, however that happens.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'

const windows = process.platform === 'win32'
/** How often it is looked whether those who started us are there. */
const CHECK_MS = 500
const SHELL = /^-?(?:ba|da|a|z|k|fi)?sh$|^busybox$/

/** Name, state and parent of a process; undefined when there is none. */
function processInfo(pid) {
  if (process.platform === 'linux') {
    try {
      // A name may hold spaces and parentheses.
      const [, name, state, parent] = /^\d+ \((.*)\) (\S) (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      return { name, state, parent: Number(parent) }
    } catch {
      return undefined
    }
  }
  const { stdout } = spawnSync('ps', ['-o', 'state=,ppid=,comm=', '-p', String(pid)], { encoding: 'utf8' })
  const [, state, parent, path] = /^\s*(\S)\S*\s+(\d+)\s+(.+?)\s*$/.exec(stdout ?? '') ?? []
  return parent && { name: path.slice(path.lastIndexOf('/') + 1), state, parent: Number(parent) }
}

/** Ids of the processes that started us: our parent and, where that is a shell that runs a script, up to who started the shell. */
function starters() {
  const pids = [process.ppid]
  if (windows) return pids
  for (
    let one = processInfo(process.ppid);
    one && SHELL.test(one.name) && one.parent > 1;
    one = processInfo(one.parent)
  )
    pids.push(one.parent)
  return pids
}
// Read before anything else takes time: they may end meanwhile.
const above = starters()
const { npm_execpath: manager, npm_config_user_agent: agent } = process.env
/** Whether npm, npx, pnpm, yarn or bunx has started us. Else a shell that a person has closed is no reason to stop. */
const isManaged = Boolean(manager || agent)

/** Whether a process has ended; one that nobody has waited for has, too. */
function hasEnded(pid) {
  if (process.platform === 'linux') return /^[ZX]?$/.test(processInfo(pid)?.state ?? '')
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}
const isAlone = () => above.some((pid, index) => (index === 0 && process.ppid !== pid) || hasEnded(pid))

/**
 * Runs a program with our terminal to its end. Gives its exit code (128 and the number of the signal that ended it) and whether it was
 * stopped; rejects with the error of the system when it cannot be run.
 * @param options of `spawn`; `managed` says that a package manager has started us, whatever the environment says
 */
export function launch(command, args, { managed = isManaged, ...options } = {}) {
  const child = spawn(command, args, { stdio: 'inherit', ...options })
  let stopped = false
  const stop = (signal) => {
    stopped = true
    child.kill(signal)
  }
  const handlers = {
    // Ctrl-C reaches the program by itself, as what it is; who stops us alone means both, and says it once.
    SIGINT: () => windows || stop('SIGTERM'),
    SIGTERM: () => stop('SIGTERM'),
    SIGHUP: () => stop('SIGHUP'),
  }
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler)
  // It has been asked already: asked again, it would end at once.
  const watching = setInterval(() => stopped || (managed && isAlone() && stop('SIGTERM')), CHECK_MS)
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve({ code: code ?? 128 + constants.signals[signal], stopped }))
  })
  return ended.finally(() => {
    clearInterval(watching)
    for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler)
  })
}

/** The same for the executable, which ends with this process even when that is killed. */
export const launchExecutable = (path, args, options = {}) =>
  launch(path, args, { ...options, env: { ...process.env, UNDERSTUDY_PARENT: String(process.pid) } })
