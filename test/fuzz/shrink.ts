// Makes a find small: as few requests as do it, and as little in them.
import type { FuzzRequest } from './requests.ts'

/** Plays requests against a new program; what is wrong with the last answer, undefined when nothing is. */
export type Replay = (requests: readonly FuzzRequest[]) => Promise<string | undefined>

const MAX_TRIES = 400

/** The smallest requests found that still go wrong in the same way; undefined when they do not in a new program. */
export async function shrink(
  requests: readonly FuzzRequest[],
  wrong: string,
  replay: Replay,
): Promise<FuzzRequest[] | undefined> {
  let tries = 0
  const same = async (candidate: readonly FuzzRequest[]) =>
    tries++ < MAX_TRIES && kindOf((await replay(candidate)) ?? '') === kindOf(wrong)
  const last = requests.at(-1)
  if (!last) return undefined
  let smallest = [last]
  if (!(await same(smallest))) {
    if (!(await same(requests))) return undefined
    smallest = await fewer([...requests], same)
  }
  for (const index of smallest.keys()) {
    for (let progress = true; progress; ) {
      progress = false
      for (const simpler of simplerThan(smallest[index] as FuzzRequest)) {
        const candidate = smallest.with(index, simpler)
        if (!(await same(candidate))) continue
        smallest = candidate
        progress = true
        break
      }
    }
  }
  return smallest
}

/** What is wrong without what differs from one find to the next of the same kind. */
export const kindOf = (wrong: string): string => wrong.replace(/"[^"]*"|\d+/g, '').slice(0, 90)

/** Leaves out halves, quarters and so on, but never the last. */
async function fewer(requests: FuzzRequest[], same: (candidate: readonly FuzzRequest[]) => Promise<boolean>) {
  let rest = requests
  for (let size = Math.ceil(rest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < rest.length - 1; ) {
      const candidate = rest.filter((_, index) => index < start || index >= Math.min(start + size, rest.length - 1))
      if (candidate.length < rest.length && (await same(candidate))) rest = candidate
      else start += size
    }
  }
  return rest
}

function* simplerThan(request: FuzzRequest): Generator<FuzzRequest> {
  const { path, headers, body } = request
  if (path.includes('?')) yield { ...request, path: path.replace(/\?.*$/s, '') }
  for (const name of Object.keys(headers)) {
    if (name === 'authorization') continue
    yield { ...request, headers: Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name)) }
  }
  if (!body) return
  const { body: _, ...without } = request
  yield without
  if ('json' in body) for (const json of simplerValues(body.json)) yield { ...request, body: { json } }
  if ('form' in body) {
    for (const index of body.form.keys()) yield { ...request, body: { form: body.form.toSpliced(index, 1) } }
  }
}

/** Values with a part less, or a shorter text; the largest steps first. */
function* simplerValues(value: unknown): Generator<unknown> {
  if (typeof value === 'string' && value.length > 1) yield* [value.slice(0, value.length / 2), value.slice(1)]
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (value.length > 3) yield value.slice(0, value.length / 2)
    for (const index of value.keys()) yield value.toSpliced(index, 1)
    for (const [index, item] of value.entries())
      for (const simpler of simplerValues(item)) yield value.with(index, simpler)
    return
  }
  const entries = Object.entries(value)
  for (const [key] of entries) yield Object.fromEntries(entries.filter(([other]) => other !== key))
  for (const [key, item] of entries) {
    for (const simpler of simplerValues(item))
      yield Object.fromEntries(entries.map(([other, old]) => [other, other === key ? simpler : old]))
  }
}
