// What differs between operating systems, each of which is tested on any: processes, sockets, names of files and packages.
import { describe, expect, test } from 'bun:test'
import { driverOf, executableOf, isMusl, platforms } from '../../src/build/platforms.ts'
import { socketSystem } from '../../src/lib/bare-socket.ts'
import { processSystem } from '../../src/lib/processes.ts'

/** A system that records its calls; process groups and parents are those given. */
function recorded({ parent = 1, gone = [] as number[], status = '' } = {}) {
  const calls: string[] = []
  return {
    calls,
    kill(pid: number, signal: NodeJS.Signals | 0) {
      calls.push(`kill ${pid} ${signal}`)
      if (gone.includes(pid)) throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' })
    },
    run: (command: string[]) => void calls.push(command.join(' ')),
    parent: () => parent,
    read(file: string) {
      if (status === '') throw new Error(`no ${file}`)
      return status
    },
  }
}
const running = { pid: 7, exitCode: null }

describe.each(['linux', 'darwin', 'freebsd'] as const)('processes of %s', (platform) => {
  test('signals: reach the process group of a command, also after it has ended', () => {
    const calls = recorded({ gone: [-7] })
    const system = processSystem(platform, calls)
    expect(system.hasGroups).toBe(true)
    system.signalAll(running, 'SIGTERM')
    system.interrupt(running)
    system.signalAll({ pid: 7, exitCode: 0 }, 'SIGKILL')
    expect(calls.calls).toEqual(['kill -7 SIGTERM', 'kill -7 SIGINT', 'kill -7 SIGKILL'])
  })

  test('parent: has ended when another process has taken its place', () => {
    const { hasParent } = processSystem(platform, recorded({ parent: 5 }))
    expect([hasParent(5), hasParent(6)]).toEqual([true, false])
  })
})

describe('processes of win32', () => {
  test('signals: end a command with its children by taskkill, unless it has ended', () => {
    const calls = recorded()
    const system = processSystem('win32', calls)
    expect(system.hasGroups).toBe(false)
    system.signalAll(running, 'SIGTERM')
    system.signalAll({ pid: 7, exitCode: 1 }, 'SIGKILL')
    expect(calls.calls).toEqual(['taskkill /pid 7 /t /f'])
  })

  test('Ctrl-C: is not passed on, since the console sends it to all of its processes', () => {
    const calls = recorded()
    processSystem('win32', calls).interrupt(running)
    expect(calls.calls).toEqual([])
  })

  test('parent: is asked for by its id, which Windows keeps after its end', () => {
    const { hasParent } = processSystem('win32', recorded({ parent: 6, gone: [6] }))
    expect([hasParent(5), hasParent(6)]).toEqual([true, false])
  })
})

test.each([
  ['linux', 'SigIgn:\t0000000000000001\n', true],
  ['linux', 'SigIgn:\t0000000000001000\n', false],
  ['linux', '', false],
  ['darwin', 'SigIgn:\t0000000000000001\n', false],
  ['win32', 'SigIgn:\t0000000000000001\n', false],
] as const)('hangup on %s: %j is ignored: %s', (platform, status, ignored) => {
  expect(processSystem(platform, recorded({ status })).ignoresHangup()).toBe(ignored)
})

test('sockets: Linux and macOS are reached through their C library, any other system through the HTTP server alone', () => {
  // SOL_SOCKET and SO_LINGER of <asm-generic/socket.h> and of <sys/socket.h> of Darwin.
  expect(socketSystem('linux')).toEqual({ library: 'libc.so.6', linger: [1, 13] })
  expect(socketSystem('darwin')).toEqual({ library: 'libSystem.B.dylib', linger: [0xffff, 0x0080] })
  expect(socketSystem('win32')).toBeUndefined()
})

test('platforms: each has a name of its executable, a C library and a database driver', () => {
  expect(platforms.map((platform) => [platform, executableOf(platform), isMusl(platform), driverOf(platform)])).toEqual(
    [
      ['linux-x64', 'understudy', false, 'linux-x64'],
      ['linux-arm64', 'understudy', false, 'linux-arm64'],
      ['linux-x64-musl', 'understudy', true, 'linuxmusl-x64'],
      ['linux-arm64-musl', 'understudy', true, 'linuxmusl-arm64'],
      ['darwin-x64', 'understudy', false, 'darwin-x64'],
      ['darwin-arm64', 'understudy', false, 'darwin-arm64'],
      ['win32-x64', 'understudy.exe', false, 'win32-x64'],
      ['win32-arm64', 'understudy.exe', false, 'win32-arm64'],
    ],
  )
})
