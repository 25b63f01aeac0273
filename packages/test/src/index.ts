// What every program may use: the server, sessions made by hand, traces for snapshots.
export { findExecutable, UnderstudyError } from './executable.ts'
export { type StartOptions, startUnderstudy, type UnderstudyServer } from './server.ts'
export { type StableTrace, stableTraces } from './stable.ts'
export { openSession, type TestName, type TestSession } from './test-session.ts'
export type {
  Attempt,
  ClockState,
  Finding,
  FixtureInput,
  ScenarioInput,
  SessionClock,
  Trace,
  Understudy,
  Verification,
  VerifyOptions,
} from './types.ts'
