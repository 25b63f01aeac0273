// The program in this process, new for every find that is played again.
import { withClientTime } from '../../src/cli/client-time.ts'
import { withRequestLog } from '../../src/cli/request-log.ts'
import { createTestApp } from '../support/app.ts'
import { wrongWith } from './checks.ts'
import { type Surface, surfaceOf } from './document.ts'
import type { FuzzRequest } from './requests.ts'
import { send, type To } from './send.ts'
import type { Replay } from './shrink.ts'

const BASE = 'http://localhost'
/** Far longer than any answer takes, on a machine that has much else to do. */
const LATE_MS = 20_000
const late = async () => Bun.sleep(LATE_MS)

/** A new program, what it describes, and what it has reported as its own bugs. */
export async function newProgram() {
  const reported: unknown[] = []
  const app = createTestApp({}, (error) => reported.push(error))
  // As `serve` has it.
  const served = withRequestLog(withClientTime(app.understudy), { print: () => {}, verbose: true, width: undefined })
  const to: To = { target: (request) => served.app.fetch(request), base: BASE, late }
  const surface = async (): Promise<Surface> => surfaceOf((await app.fetch('/swagger/json')).text)
  return { app, to, surface, reported }
}

/** Plays requests against a new program, and then looks whether what is stored can be saved. */
export const replay: Replay = async (requests: readonly FuzzRequest[]) => {
  const { app, to, reported } = await newProgram()
  try {
    let wrong: string | undefined
    for (const request of requests) wrong = (await send(request, to)).wrong
    if (wrong !== undefined) return wrong
    const saved = await app.fetch('/_understudy/snapshot')
    return wrongWith(saved, 'GET') ?? (reported.length > 0 ? `reported: ${reported[0]}` : undefined)
  } finally {
    app.close()
  }
}
