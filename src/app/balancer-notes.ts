// A balancer's notes on calls of a session that other instances have handled.
import { namedSession } from '../access.ts'
import { ANSWERED_BY } from '../contract/core/answer-headers.ts'
import { decodedPart } from '../lib/values.ts'
import type { Sessions } from '../sessions/sessions.ts'

/** The session in a path of the control API, which takes precedence, for the balancer too. */
const IN_PATH = /^\/_understudy\/sessions\/([^/]+)/

/**
 * Notes for each request whether another instance has handled the last call of its session, if a balancer reports it.
 */
export function balancerNotes({ instance, loaded }: Pick<Sessions, 'instance' | 'loaded'>): (request: Request) => void {
  if (!instance.named) return () => {}
  const own = String(Bun.hash.crc32(instance.name))
  return (request) => {
    const last = request.headers.get(ANSWERED_BY)
    if (last === null || last === own || !/^[1-9]\d*$/.test(last)) return
    const [, named] = IN_PATH.exec(URL.parse(request.url)?.pathname ?? '') ?? []
    const name = named === undefined ? namedSession(request) : decodedPart(named)
    if (name !== undefined) loaded(name)?.slot.moved()
  }
}
