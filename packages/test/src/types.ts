// What a test is given, and what it gives.

/** A fixture as a file holds it, with `match.operation`. */
export interface FixtureInput {
  name?: string
  match?: { operation?: string | readonly string[]; [key: string]: unknown }
  reply?: unknown
  replies?: readonly unknown[]
}

/** A scenario as a file holds it. */
export interface ScenarioInput {
  name: string
  [key: string]: unknown
}

/** One try of one target. */
export interface Attempt {
  target: string
  number: number
  reason: 'first' | 'retry' | 'fallback'
  faults: string[]
  wait_ms: number
  outcome: string
  status: number
  error: string | null
  [key: string]: unknown
}

/** The record of one call, with its request and response. */
export interface Trace {
  id: string
  session: string
  operation: string
  model: string | null
  stream: boolean
  status: number
  outcome: string
  fixture: string | null
  generated: boolean
  faults: string[]
  attempts: Attempt[]
  error: { message: string; type: string; param: string | null; code: string } | null
  request: unknown
  response: unknown
  [key: string]: unknown
}

/** Something that the client did wrong. */
export interface Finding {
  kind: string
  severity: 'error' | 'warning'
  accepted: boolean
  message: string
  [key: string]: unknown
}

/** What really happened in a session, and whether it is what was expected. */
export interface Verification {
  session: string
  scenario: string | null
  verdict: 'pass' | 'fail' | 'inconclusive'
  /** Why the verdict proves nothing, such as `no fault was injected`. */
  inconclusive: string[]
  /** Nothing failed; true of an inconclusive verdict, too. */
  ok: boolean
  calls: number
  attempts: number
  expectations: { expected: string; actual: string; met: boolean }[]
  findings: Finding[]
  [key: string]: unknown
}

/** What is expected beside the scenario's own expectations, and how the client has ended. */
export interface VerifyOptions {
  /** As a scenario file holds it under `expect`, such as `{ provider: 'openai', attempts: '2+' }`. */
  expect?: readonly Record<string, unknown>[]
  /** How long to wait, in real time, for what is not met yet, such as `5s`. */
  wait?: string
  /** How the client has ended: `well` if the test has proved that it succeeded. */
  ended?: 'well' | 'badly' | 'stopped' | 'unknown'
  /** Warnings fail, too. */
  strict?: boolean
  /** Does not throw when the verdict is inconclusive, as when the scenario injected no fault. */
  allowInconclusive?: boolean
}

/** Where the clock of a session stands. */
export interface ClockState {
  kind: 'real' | 'virtual'
  now: string
  frozen: boolean
  waiting: number
}

/** Moves the clock of a session, where it is virtual. */
export interface SessionClock {
  now(): Promise<Date>
  /** Lets so much time pass, such as `10m`, with every wait that ends in it. */
  advance(time: string | number): Promise<ClockState>
  freeze(): Promise<ClockState>
  resume(): Promise<ClockState>
  set(time: Date | string): Promise<ClockState>
}

/** The fixture `understudy` of a test: a session of its own. */
export interface Understudy {
  /** The OpenAI-compatible API, as the OpenAI SDK takes it: `new OpenAI({ baseURL, apiKey })`. */
  readonly baseURL: string
  /** The router of the gateway, for programs that call one. */
  readonly routerURL: string
  /** The base of all paths of the session, as Anthropic's SDK takes it: `new Anthropic({ baseURL: url, apiKey })`. */
  readonly url: string
  /** Any program that calls with it is in the session. */
  readonly apiKey: string
  /** Name of the session. */
  readonly session: string
  /** Activates a scenario: the name of a known one, or a whole one. */
  scenario(scenario: string | ScenarioInput): Promise<void>
  /** Gives the session fixtures, in the place of those it was given before. */
  fixtures(...fixtures: readonly (FixtureInput | readonly FixtureInput[])[]): Promise<void>
  readonly clock: SessionClock
  /** Calls so far, in the order in which they came. */
  traces(): Promise<Trace[]>
  /** Throws unless the verdict is `pass`: every expectation is met, nothing is wrong with the client, and a fault of the scenario was injected. */
  verify(options?: VerifyOptions): Promise<Verification>
  /** Fills the workspace: path of a seed file, or what one holds. */
  seed(seed: string | Record<string, unknown>): Promise<void>
}
