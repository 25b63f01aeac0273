// The scenario in force, as the server says it.
import type { Verification } from '../../../contract/core/verification.ts'

/** What the server says of the scenario in force. */
export interface ScenarioState {
  scenario: string | null
  from: string | null
  text: string | null
  problem: string | null
  warnings: string[]
  state: string | null
  started_at: string | null
  rules: Verification['rules']
  phases: { rule: string; phase: string; from_ms: number; to_ms: number | null }[]
}
