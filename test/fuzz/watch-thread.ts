// The thread of the watcher: asks each server whether it is there, every 50 ms on a connection of its own.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { processTimes, stallOf, takenByOthers, waitedMs } from './own-time.ts'
import { type Limits, type Measured, now, type Report, type Watched } from './watch.ts'

declare const self: Worker
const EVERY_MS = 50
const ASK = 'GET /_understudy/livez HTTP/1.1\r\nhost: localhost\r\n\r\n'
const measured: Measured = { asked: 0, worstStallMs: 0, peakMemoryMb: 0 }
let going = true
const report = (message: Report) => self.postMessage(message)

/** A connection that asks and resolves when the answer is there; it is made anew when the server has closed it. */
function asker(port: number) {
  let answered = () => {}
  const open = () => {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('data', () => answered())
    socket.on('close', () => answered())
    return socket
  }
  let socket = open()
  return () =>
    new Promise<void>((resolve) => {
      answered = resolve
      if (socket.destroyed || !socket.writable) socket = open()
      socket.write(ASK)
    })
}

/** Megabytes that a process has in memory. */
function memoryOf(pid: number): number {
  try {
    const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kilobytes) / 1_000
  } catch {
    return 0
  }
}

async function watchOne(server: number, { url, pid }: Watched, { stallMs, memoryMb }: Limits): Promise<void> {
  const ask = asker(Number(new URL(url).port))
  let isTooMuch = false
  while (going) {
    const [before, ownBefore, began] = [processTimes(pid), waitedMs('thread-self'), now()]
    await ask()
    const [ended, ownAfter, after] = [now(), waitedMs('thread-self'), processTimes(pid)]
    // What is left is time in which the server worked on something else, or was blocked by itself.
    const stalled = ended - began - (ownAfter - ownBefore) - takenByOthers(ended - began, before, after)
    measured.asked++
    measured.worstStallMs = Math.max(measured.worstStallMs, stalled)
    if (stalled > stallMs) report({ server, wrong: stallOf(stalled), began, ended })
    const memory = memoryOf(pid)
    measured.peakMemoryMb = Math.max(measured.peakMemoryMb, memory)
    if (memory > memoryMb && !isTooMuch)
      report({ server, wrong: `the server has ${Math.round(memory)} MB of memory`, began, ended })
    isTooMuch = memory > memoryMb
    await Bun.sleep(EVERY_MS)
  }
}

self.onmessage = ({ data }: MessageEvent<'stop' | { servers: Watched[]; limits: Limits }>) => {
  if (data === 'stop') going = false
  else
    void Promise.all(data.servers.map((one, server) => watchOne(server, one, data.limits))).then(() =>
      report({ measured }),
    )
}
