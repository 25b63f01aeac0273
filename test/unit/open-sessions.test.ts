// How many databases of sessions are open: which of them are closed when files are scarce.
import { expect, test } from 'bun:test'
import { limitLoaded } from '../../src/sessions/loaded-sessions.ts'
import type { OwnedSession } from '../../src/sessions/session-handle.ts'

/** Sessions with open databases; those whose names begin with `busy` have a call in progress. */
function sessions(...names: string[]) {
  const closed: string[] = []
  const entries = names.map((name, used) => {
    const handle = {
      loaded: true,
      active: name.startsWith('busy') ? 1 : 0,
      sleep() {
        if (name.endsWith('stuck')) return
        handle.loaded = false
        closed.push(name)
      },
    }
    return { handle: handle as unknown as OwnedSession, used }
  })
  return { entries, closed, limit: (files?: number) => limitLoaded(() => entries, files) }
}

test('open sessions: the one that was not used for the longest time makes room for another', () => {
  const { closed, limit } = sessions('a', 'b', 'c', 'd', 'e')
  // A quarter of the files, of which each session needs four.
  limit(5 * 16).opening()
  expect(closed).toEqual(['a'])
  limit(5 * 16).opening()
  expect(closed).toEqual(['a'])
})

test('open sessions: idle ones make room first, then those in use', () => {
  const { closed, limit } = sessions('busy', 'busy-stuck', 'b', 'c', 'd')
  expect(limit().makeRoom()).toBe(true)
  expect(closed).toEqual(['b', 'c', 'd', 'busy'])
  expect(limit().makeRoom()).toBe(false)
})

test('open sessions: four stay open however few files are allowed', () => {
  const { closed, limit } = sessions('a', 'b', 'c', 'd', 'e')
  limit(1).opening()
  expect(closed).toEqual(['a', 'b'])
})
