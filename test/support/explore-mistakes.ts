// Programs with a planted mistake (test/support/explore-programs), and what an exploration has to say of each.
import { expect } from 'bun:test'
import type { FailureModeName, ProblemKind } from '../../src/contract/core/exploration.ts'

/** Failure modes that show most mistakes. */
export const FEW_MODES: FailureModeName[] = [
  ...(['server-error-once', 'rate-limit-once', 'timeout', 'invalid-json', 'empty-response', 'auth'] as const),
]

/** A program's mistake. */
export interface Planted {
  /** Its first problem, and a failure mode that shows it. */
  kind: ProblemKind
  mode: FailureModeName
  message: RegExp
  /** Whether its careful twin, too, is explored under the few failure modes instead of all. */
  few?: true
  /** Whether it is explored under all failure modes instead of the few and its own. */
  all?: true
}
/** The programs with their mistakes; those that wait longest come first, so that they end with the others. */
export const PROGRAMS = {
  // Anthropic API through fetch, stream: no timeout.
  news: { kind: 'hung', mode: 'timeout', message: /without activity/ },
  // Anthropic SDK, three calls: endless retries.
  chapters: { kind: 'hung', mode: 'auth', message: /the same request \d+ times/, few: true },
  // AI SDK, tools, three calls: a failure starts everything again.
  refund: { kind: 'duplicate-side-effect', mode: 'timeout', message: /issue_refund .* 2 times/ },
  // OpenAI SDK, whole: no retries.
  title: { kind: 'failed', mode: 'server-error-once', message: /failed with exit code 1/, few: true },
  // Anthropic SDK, whole, two calls: a failed call is ignored.
  translation: { kind: 'lost-work', mode: 'server-error-once', message: /did not retry/, few: true },
  // OpenAI SDK, stream: a truncated stream counts as complete.
  story: { kind: 'swallowed', mode: 'cut-stream', message: /did not retry/, all: true },
  // AI SDK, structured output: a default instead of invalid JSON.
  ticket: { kind: 'swallowed', mode: 'invalid-json', message: /did not retry/, few: true },
  // OpenAI SDK, embeddings: a misspelled fallback.
  search: { kind: 'misbehaved', mode: 'server-error-once', message: /opnai/, few: true },
  // OpenAI SDK, tools, two calls: arguments are not checked.
  weather: { kind: 'swallowed', mode: 'wrong-arguments', message: /did not retry/ },
  // AI SDK, stream: errors of the stream are ignored.
  poem: { kind: 'lost-work', mode: 'server-error-once', message: /did not retry/ },
} satisfies Record<string, Planted>
/** How a program handles failures. */
export type Manner = 'careful' | 'careless'

/** What the tests read of an exploration's JSON. */
export interface Report {
  verdict: string
  problems: { kind: ProblemKind; severity: string; message: string; failure_modes: string[] }[]
  cases: { injection_point: string; failure_mode: string; result: string }[]
}
/** Fails unless the mistake is the first of few problems. */
export function expectMistake({ verdict, problems }: Report, { kind, mode, message }: Planted) {
  const [first] = problems
  expect(first).toMatchObject({ kind, message: expect.stringMatching(message) })
  expect(first?.failure_modes).toContain(mode)
  expect([verdict, problems.length <= 3]).toEqual(['fail', true])
}
