// Hand-made mistakes in the code that users rely on most: the tests must notice each.

/** A mistake: `find` stands exactly once in `file`, and is replaced. */
export interface Mutant {
  /** What would go wrong. */
  mistake: string
  /** Under `src/`. */
  file: string
  find: string
  replace: string
  /** Names of test files that are to notice it, tried first; all others of the quick tests follow. */
  tests: readonly string[]
}

const gateway: Mutant[] = [
  {
    mistake: 'one retry too many is made',
    file: 'gateway/route.ts',
    find: 'number > retry.count',
    replace: 'number > retry.count + 1',
    tests: ['retry'],
  },
  {
    mistake: 'every refusal is retried, whatever on_codes says',
    file: 'gateway/retry.ts',
    find: 'retry.codes.includes(failure.status)',
    replace: 'retry.codes.length > 0',
    tests: ['retry'],
  },
  {
    mistake: 'a 408 leads to no fallback',
    file: 'gateway/retry.ts',
    find: 'status === 408 || status === 429',
    replace: 'status === 429',
    tests: ['fallback', 'gateway-properties'],
  },
  {
    mistake: 'advice to wait for exactly a minute is ignored',
    file: 'gateway/retry.ts',
    find: 'advised <= MAX_ADVICE_MS',
    replace: 'advised < MAX_ADVICE_MS',
    tests: ['retry'],
  },
  {
    mistake: 'retry-after is taken for milliseconds',
    file: 'gateway/retry.ts',
    find: 'seconds * 1000',
    replace: 'seconds',
    tests: ['retry'],
  },
  {
    mistake: 'the pauses between retries do not grow',
    file: 'gateway/retry.ts',
    find: '2 ** (retry - 1)',
    replace: '2',
    tests: ['retry'],
  },
  {
    mistake: 'the name of a call decides whether it is found in the cache',
    file: 'gateway/cache.ts',
    find: "  'name',\n",
    replace: '',
    tests: ['cache'],
  },
  {
    mistake: 'cached answers expire after a thousandth of their time',
    file: 'gateway/cache.ts',
    find: '(settings.cacheTtl ?? 0) * 1000',
    replace: '(settings.cacheTtl ?? 0)',
    tests: ['cache'],
  },
  {
    mistake: 'the first model of a load balancer gets no calls',
    file: 'gateway/plan.ts',
    find: 'return remaining < 0\n',
    replace: 'return remaining < -0.5\n',
    tests: ['balance'],
  },
  {
    mistake: 'a timeout is reported as 502',
    file: 'gateway/outcome.ts',
    find: "own('timed_out', 504, 'timeout')",
    replace: "own('timed_out', 502, 'timeout')",
    tests: ['timeout'],
  },
]

const faults: Mutant[] = [
  {
    mistake: 'a rate limit lets one request too many through',
    file: 'faults/rate-limit.ts',
    find: 'window.used[unit] + requested[unit] >',
    replace: 'window.used[unit] >',
    tests: ['faults-rate-limit'],
  },
  {
    mistake: 'the window of a rate limit never ends',
    file: 'faults/rate-limit.ts',
    find: 'if (current && clock.passed() < current.resets)',
    replace: 'if (current)',
    tests: ['faults-rate-limit'],
  },
  {
    mistake: 'a rate limit without calls left is not announced in the headers',
    file: 'faults/rate-limit.ts',
    find: 'return changed(reply, { headers: { ...reply.headers, ...countdown } })',
    replace: 'return reply',
    tests: ['faults-rate-limit'],
  },
  {
    mistake: 'http-error says nothing of when to call again',
    file: 'faults/http-error.ts',
    find: 'const headers = { ...retry, ...lowerCaseNames(options.headers) }',
    replace: 'const headers = { ...lowerCaseNames(options.headers) }',
    tests: ['faults-outcomes', 'faults-table'],
  },
  {
    mistake: 'http-error with a page of HTML calls it plain text',
    file: 'faults/http-error.ts',
    find: "? 'text/html' : 'text/plain'",
    replace: "? 'text/plain' : 'text/plain'",
    tests: ['faults-outcomes', 'faults-table'],
  },
  {
    mistake: 'a delay takes no time',
    file: 'faults/delay.ts',
    find: 'await context.clock.latency(wait, context.signal)',
    replace: 'await context.clock.latency(0, context.signal)',
    tests: ['faults-outcomes', 'latency'],
  },
  {
    mistake: 'a uniform delay ignores its shortest wait',
    file: 'faults/delay.ts',
    find: 'uniform: () => min + random',
    replace: 'uniform: () => random',
    tests: ['faults-outcomes', 'faults-body'],
  },
  {
    mistake: 'a stream error ends the stream without an error event',
    file: 'faults/stream-error.ts',
    find: '{ ...options, sent })) yield encodeEvent(event)',
    replace: '{ ...options, sent })) encodeEvent(event)',
    tests: ['faults-stream', 'faults-table'],
  },
  {
    mistake: 'missing-finish leaves the finish reason of whole answers',
    file: 'faults/missing-finish.ts',
    find: '{ ...asObject(choice), finish_reason: null }',
    replace: '{ ...asObject(choice) }',
    tests: ['faults-table', 'faults-outcomes'],
  },
  {
    mistake: 'a cut tool call is sent whole',
    file: 'faults/tool-truncated.ts',
    find: '[isLast ? { ...call, arguments: half(call.arguments) } : call]',
    replace: '[call]',
    tests: ['faults-tool-streams'],
  },
  {
    mistake: 'calls behind a repeated one keep their place among the items',
    file: 'faults/answer-tools.ts',
    find: 'output_index: at + before }',
    replace: 'output_index: at }',
    tests: ['faults-tool-streams'],
  },
  {
    mistake: 'a fault is in the trace though it did nothing',
    file: 'faults/delay.ts',
    find: "if (wait <= 0) context.skipped('the wait was 0 ms')",
    replace: 'if (wait <= 0) context.triggered()',
    tests: ['faults-triggered'],
  },
]

const verdict: Mutant[] = [
  {
    mistake: 'a request that was never repeated is a warning alone',
    file: 'verdict/kinds/gave-up.ts',
    find: "severity: isMild ? 'warning' : 'error', end })",
    replace: "severity: 'warning', end })",
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'a storm must have twice as many calls',
    file: 'verdict/kinds/retry-storm.ts',
    find: 'const DECLARED_CALLS = 11',
    replace: 'const DECLARED_CALLS = 22',
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'pauses that grow are a storm, too',
    file: 'verdict/kinds/retry-storm.ts',
    find: 'return !grow && long',
    replace: 'return long',
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'calls that came too early are not found',
    file: 'verdict/kinds/early-retry.ts',
    find: 'find: (behavior) => [...pairedEarly(behavior),',
    replace: 'find: (behavior) => [',
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'a client that succeeds with half a response is only warned',
    file: 'verdict/kinds/swallowed.ts',
    find: "severity: succeeded ? ('error' as const) : ('warning' as const)",
    replace: "severity: 'warning' as const",
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'an equal call at once counts as the retry of an incomplete response',
    file: 'verdict/incomplete.ts',
    find: 'pause >= BACKOFF_MS.shortest &&',
    replace: 'pause >= 0 &&',
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'repeats at once are found without back-off from the fourth on',
    file: 'verdict/kinds/no-backoff.ts',
    find: 'stretch.length > MIN_REPEATS',
    replace: 'stretch.length > MIN_REPEATS + 1',
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'a client without any timeout gets a warning alone',
    file: 'verdict/kinds/no-timeout.ts',
    find: "severity: ms > limit ? ('warning' as const) : ('error' as const)",
    replace: "severity: 'warning' as const",
    tests: ['verdict-findings'],
  },
  {
    mistake: 'warnings never make a strict run fail',
    file: 'verdict/findings.ts',
    find: "(strict || severity === 'error')",
    replace: "severity === 'error'",
    tests: ['verify', 'verdict-findings'],
  },
  {
    mistake: 'an expected order is met by its beginning',
    file: 'verdict/expectations.ts',
    find: 'met: next === order.length,',
    replace: 'met: next > 0,',
    tests: ['verify'],
  },
  {
    mistake: 'conversations with equal beginnings are taken for one that loops',
    file: 'verdict/kinds/compaction-loop.ts',
    find: 'if (begun.size > 0 && row.length < MIN_REJECTIONS * begun.size) return undefined',
    replace: '',
    tests: ['verdict-clients'],
  },
  {
    mistake: 'a report of a cut tool call is taken for its result',
    file: 'lib/question.ts',
    find: "as: isFailure ? 'error' : ",
    replace: 'as: ',
    tests: ['verdict-findings', 'verdict-clients'],
  },
  {
    mistake: 'conversations of several users break the cache of each other',
    file: 'verdict/kinds/cache-prefix-broken.ts',
    find: 'if (before.some((first) => changedPart(first, again) === undefined)) continue',
    replace: '',
    tests: ['verdict-clients', 'verdict-findings'],
  },
  {
    mistake: 'a call of unknown price costs nothing',
    file: 'verdict/expectations.ts',
    find: 'met: unpriced.length === 0 && inRange(cost, range)',
    replace: 'met: inRange(cost, range)',
    tests: ['verify'],
  },
]

const sessions: Mutant[] = [
  {
    mistake: 'the default session is dropped when nobody uses it',
    file: 'sessions/loaded-sessions.ts',
    find: 'if (stopped || name === DEFAULT_SESSION ||',
    replace: 'if (stopped ||',
    tests: ['sessions', 'session-limits', 'sessions-api'],
  },
  {
    mistake: 'a session in which a call is under way is dropped',
    file: 'sessions/loaded-sessions.ts',
    find: 'if (entry.handle.active > 0) entry.used = now',
    replace: '',
    tests: ['sessions', 'session-limits', 'sessions-api'],
  },
  {
    mistake: 'one session more than allowed is made',
    file: 'sessions/sessions.ts',
    find: 'if (sessions.size >= most)',
    replace: 'if (sessions.size > most)',
    tests: ['session-limits', 'sessions-api'],
  },
  {
    mistake: 'names of 111 characters are taken',
    file: 'sessions/refusals.ts',
    find: '.{1,110}$',
    replace: '.{1,111}$',
    tests: ['sessions', 'sessions-api'],
  },
  {
    mistake: 'calls go on in a session that was deleted',
    file: 'sessions/sessions.ts',
    find: 'entry?.handle.forget(resetError(why))',
    replace: '',
    tests: ['sessions', 'session-generations', 'cancel'],
  },
  {
    mistake: 'a session of a name that is taken is made anew',
    file: 'sessions/sessions.ts',
    find: 'if (sessions.has(name)) throw alreadyThere(name)',
    replace: '',
    tests: ['sessions-api'],
  },
  {
    mistake: 'the work of a call that has ended is still counted',
    file: 'sessions/session-handle.ts',
    find: 'this.#among.lineage.active--',
    replace: '',
    tests: ['sessions', 'session-generations', 'client-disconnects'],
  },
]

const agents: Mutant[] = [
  {
    mistake: 'a task makes one iteration more than allowed',
    file: 'agents/loop/next-step.ts',
    find: 'iterations >= limits.max_iterations',
    replace: 'iterations > limits.max_iterations',
    tests: ['agents-loop', 'agents-run'],
  },
  {
    mistake: 'tools that need approval are run without it',
    file: 'agents/loop/next-step.ts',
    find: '!task.approved.includes(call.tool_call_id)',
    replace: 'false',
    tests: ['agents-approvals'],
  },
  {
    mistake: 'a rejected call goes to the model without its reason',
    file: 'agents/loop/tasks.ts',
    find: 'reason === undefined ?',
    replace: 'reason !== undefined ?',
    tests: ['agents-approvals'],
  },
  {
    mistake: 'a task costs what it likes',
    file: 'agents/loop/next-step.ts',
    find: 'limits.max_cost > 0 && cost >= limits.max_cost',
    replace: 'limits.max_cost > 0 && cost > 2 * limits.max_cost',
    tests: ['agents-loop', 'agents-run', 'agents-tasks'],
  },
  {
    mistake: 'a task that has ended can be canceled',
    file: 'agents/loop/tasks.ts',
    find: "if (task.state !== 'input-required') throw notCancelable(task)",
    replace: '',
    tests: ['agents-tasks', 'agents-run'],
  },
  {
    mistake: 'an agent is told nothing of a sub-task that stopped at a limit',
    file: 'agents/loop/tasks.ts',
    find: 'limit === undefined ? { pending',
    replace: 'limit !== null ? { pending',
    tests: ['agents-tools', 'agent-tools'],
  },
  {
    mistake: 'sub-tasks go on when their task is canceled',
    file: 'agents/loop/tasks.ts',
    find: 'await cancelTasks(owner, Object.values(children), { runner, events })',
    replace: 'children',
    tests: ['agents-loop', 'agent-tools', 'agents-tasks'],
  },
  {
    mistake: 'a decision about a call that does not wait for one is taken',
    file: 'agents/loop/tasks.ts',
    find: 'if (chosen.length === 0 || unknown !== undefined) throw',
    replace: 'if (chosen.length === 0) throw',
    tests: ['agents-approvals'],
  },
]

export const MUTANTS: readonly Mutant[] = [...gateway, ...faults, ...verdict, ...sessions, ...agents]
