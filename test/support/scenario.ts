// Scenarios in force in a session of its own, for the tests of the faults.
import { expect } from 'bun:test'
import type { TestApp } from './app.ts'
import { bodyOf, CHAT } from './chat.ts'

let sessions = 0

/** A new session with these rules and more fields of the scenario, and calls to it. */
export async function playing(app: TestApp, rules: readonly object[], more: object = {}) {
  const prefix = `/s/faults-${++sessions}`
  const scenario = {
    name: 'bad-day',
    clock: 'virtual',
    ...more,
    rules: rules.map((rule, index) => ({ name: `rule ${index + 1}`, ...rule })),
  }
  const answer = await app.fetch(`${prefix}/_understudy/scenario`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(scenario),
  })
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
  const rule = async (name = 'rule 1') => {
    const report = (await app.fetch(`${prefix}/_understudy/scenario`)).json()
    return (report.rules as { name: string; applied: number; fired: number; skipped: object }[]).find(
      (one) => one.name === name,
    )
  }
  return {
    prefix,
    /** A chat call, whole unless told otherwise. */
    chat: (patch: object = {}) => app.post(`${prefix}${CHAT}`, bodyOf(patch)),
    post: (path: string, body: object) => app.post(`${prefix}${path}`, body),
    /** What the scenario says of a rule. */
    rule,
  }
}
