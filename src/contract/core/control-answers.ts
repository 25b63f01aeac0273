// Responses of the control API that the inspector reads, too.
import { z } from 'zod'
import { RuleReport } from './rule-report.ts'

/** Kind of a session's clock. */
export const ClockKind = z.enum(['real', 'virtual'])

/** The clock of a session. */
export const SessionClock = z.object({
  kind: ClockKind.describe('A `virtual` clock skips to the next timer instead of waiting.'),
  now: z.iso.datetime().describe('Current time of the session: ISO 8601.'),
  frozen: z.boolean().describe('Whether a virtual clock is frozen.'),
  waiting: z.int().min(0).describe('Pending timers of a virtual clock.'),
})

/** Whether the tools of a session's agents wait for approval. */
export const ApprovalMode = z
  .enum(['ask', 'auto'])
  .describe('Whether tool calls that require approval wait for it or are approved automatically.')

/** A session. */
export const SessionInfo = z.object({
  name: z.string().describe('Name of the session, as used in tokens and headers.'),
  seed: z.int().describe('Seed of ids and randomness.'),
  clock: SessionClock.describe('Clock of the session.'),
  scenario: z.string().describe('The active scenario, or null.').nullable(),
  approvals: ApprovalMode,
  fixtures: z.array(z.string()).describe("Names of the session's own fixtures."),
  calls: z.int().min(0).describe('Number of calls started.'),
  origin: z
    .enum(['called', 'made', 'restored'])
    .describe(
      'How this process obtained the session: from its first call, by an explicit request, or from a file of an earlier process.',
    ),
})
export type SessionInfo = z.infer<typeof SessionInfo>

/** A time span in which a rule is active. */
export const ScenarioPhase = z.object({
  rule: z.string().describe('Name of the rule.'),
  phase: z.enum(['healthy', 'degrading', 'down', 'recovering']).describe('Phase of the rule.'),
  from_ms: z.number().describe('Milliseconds from the start of the scenario.'),
  to_ms: z.number().nullable().describe('End in milliseconds from the start of the scenario. Null if open-ended.'),
})
export type ScenarioPhase = z.infer<typeof ScenarioPhase>

/** The report on the active scenario. */
export const ScenarioReport = z.object({
  scenario: z.string().nullable().describe('Name of the active scenario, or null.'),
  from: z.string().nullable().describe('Source of the scenario.'),
  text: z.string().nullable().describe('Text of the active scenario in YAML, or null.'),
  problem: z.string().nullable().describe('Why the current version of the file is not active.'),
  warnings: z.array(z.string()).describe('Rules that can never be triggered.'),
  state: z.string().describe('Current state of the scenario, or null.').nullable(),
  started_at: z.iso.datetime().describe('When the scenario was activated: ISO 8601, or null.').nullable(),
  rules: z.array(RuleReport).describe('Counts of each rule.'),
  phases: z.array(ScenarioPhase).describe('Active phases of time-based rules.'),
})
export type ScenarioReport = z.infer<typeof ScenarioReport>

/** A message about a line of a scenario. */
const ScenarioRemark = z.object({
  line: z.int().min(1).describe('Line of the text, from 1.'),
  column: z.int().min(1).describe('Column in it, from 1.'),
  message: z.string().describe('What is wrong and what is valid.'),
})

/** The check of a scenario. */
export const ScenarioCheck = z.object({
  valid: z.boolean().describe('Whether the scenario is valid.'),
  name: z.string().nullable().describe('Name of the scenario, or null if it cannot be read.'),
  problems: z.array(ScenarioRemark).describe('Why the scenario is invalid.'),
  warnings: z.array(ScenarioRemark).describe('Rules that can never be triggered.'),
})
export type ScenarioCheck = z.infer<typeof ScenarioCheck>

/** A file that helps to reproduce a call. */
export const GeneratedFile = z.object({
  name: z.string().describe('Name of the file.'),
  text: z.string().describe('Text of the file.'),
  value: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('Content as JSON, for use in a request. Null for a test.'),
})
export type GeneratedFile = z.infer<typeof GeneratedFile>

/** The files that reproduce a call. */
export const GeneratedFiles = z.object({
  fixture: GeneratedFile.nullable().describe(
    'A fixture that returns this response for the same call. Null if there was no response.',
  ),
  scenario: GeneratedFile.nullable().describe('A scenario that reproduces the failed attempts. Null if none failed.'),
  test: GeneratedFile.nullable().describe(
    'A vitest test that repeats the call. Null if the call cannot be expressed as JSON.',
  ),
})
export type GeneratedFiles = z.infer<typeof GeneratedFiles>
