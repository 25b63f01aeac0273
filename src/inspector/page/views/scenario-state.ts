// The active scenario, as the server reports it.
import type { Verification } from '../../../contract/core/verification.ts'

/** What the server reports about the active scenario. */
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
