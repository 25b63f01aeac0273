// The time spans in which the rules of a scenario are active, relative to its start.
import { z } from 'zod'
import type { Scenario } from '../scenarios/engine.ts'

/** A time span in which a rule is active. */
export const ScenarioPhase = z.object({
  rule: z.string().describe('Name of the rule.'),
  phase: z.enum(['healthy', 'degrading', 'down', 'recovering']).describe('Phase of the rule.'),
  from_ms: z.number().describe('Milliseconds from the start of the scenario.'),
  to_ms: z.number().nullable().describe('End in milliseconds from the start of the scenario. Null if open-ended.'),
})
export type ScenarioPhase = z.infer<typeof ScenarioPhase>

/** The phases of all rules with a schedule or time limits. */
export function phasesOf({ rules }: Scenario): ScenarioPhase[] {
  return rules.flatMap(({ name, when: { schedule, after, for: length } }): ScenarioPhase[] => {
    if (schedule) {
      let at = 0
      return schedule.map(({ phase, for: lasts }) => {
        const from = at
        at += lasts ?? 0
        return { rule: name, phase, from_ms: from, to_ms: lasts === undefined ? null : at }
      })
    }
    if (after === undefined && length === undefined) return []
    const from = after ?? 0
    return [{ rule: name, phase: 'down', from_ms: from, to_ms: length === undefined ? null : from + length }]
  })
}
