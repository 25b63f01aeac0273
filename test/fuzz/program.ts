// The program in this process, new for every find that is played again.

import { withRequestLog } from '../../src/cli/print/request-log.ts'
import { withClientTime } from '../../src/cli/run/client-time.ts'
import { readForwarding } from '../../src/config/providers.ts'
import type { Config } from '../../src/config.ts'
import { createTestApp } from '../support/app.ts'
import { wrongWith } from './checks.ts'
import { type Surface, surfaceOf } from './document.ts'
import { loopGauge, stallOf } from './own-time.ts'
import { MAX_RESPONSE, providersAt, startHostileProvider } from './provider.ts'
import type { FuzzRequest } from './requests.ts'
import { send, type To } from './send.ts'
import type { Replay } from './shrink.ts'

const BASE = 'http://localhost'
/** Far longer than any answer takes, on a machine that has much else to do. */
const LATE_MS = 20_000
const late = async () => Bun.sleep(LATE_MS)

/** A new program, what it describes, and what it has reported as its own bugs. */
export async function newProgram(settings: Partial<Config> = {}) {
  const reported: unknown[] = []
  const app = createTestApp(settings, (error) => reported.push(error))
  // As `serve` has it.
  const log = { isJson: false, line: () => {}, plain: () => {} }
  const served = withRequestLog(withClientTime(app.understudy), { log, stderr: { width: undefined } }, true)
  const to: To = { target: (request) => served.app.fetch(request), base: BASE, late }
  const surface = async (): Promise<Surface> => surfaceOf((await app.fetch('/swagger/json')).text)
  return { app, to, surface, reported }
}

/** A new program that forwards to a provider which breaks every rule. */
export async function newForwardingProgram() {
  const provider = await startHostileProvider()
  const section = { value: providersAt(provider.url), locationOf: () => '' }
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
  const { app, to, ...program } = await newProgram({ clock: 'real', forwarding, max_response: MAX_RESPONSE })
  const close = app.close
  return {
    ...program,
    to: { ...to, forwarded: true },
    app: {
      ...app,
      close() {
        provider.stop()
        return close()
      },
    },
  }
}

type Program = Awaited<ReturnType<typeof newProgram>>

/** Plays requests against a program, and then looks whether what is stored can be saved. */
const replayWith =
  (make: () => Promise<Program>): Replay =>
  async (requests: readonly FuzzRequest[]) => {
    const { app, to, reported } = await make()
    try {
      for (const request of requests) {
        const { wrong } = await send(request, to)
        if (wrong !== undefined) return wrong
      }
      const saved = await app.fetch('/_understudy/snapshot')
      return wrongWith(saved, 'GET') ?? (reported.length > 0 ? `reported: ${reported[0]}` : undefined)
    } finally {
      await app.close()
    }
  }

/** Plays requests against a new program. */
export const replay = replayWith(newProgram)
/** Plays requests against a new program that forwards. */
export const replayForwarded = replayWith(newForwardingProgram)

/** Plays requests against a new program; what is wrong is that it did nothing else for too long. */
export const replayStall =
  (stallMs: number, forwarded: boolean): Replay =>
  async (requests) => {
    const { app, to } = await (forwarded ? newForwardingProgram() : newProgram())
    const gauge = loopGauge()
    try {
      for (const request of requests) await send(request, to)
      await Bun.sleep(50)
      const stalled = gauge.stop()
      return stalled > stallMs ? stallOf(stalled) : undefined
    } finally {
      gauge.stop()
      await app.close()
    }
  }
