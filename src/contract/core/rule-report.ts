// What happened to the rules of a scenario.
import { z } from 'zod'
import { FAULT_POINTS } from './fault.ts'

const count = z.int().min(0)

/** The result of a rule of a scenario. */
export const RuleReport = z.object({
  name: z.string().describe('Name of the rule in the scenario.'),
  fault: z.string().nullable().describe('Fault type; null for a rule without a fault.'),
  at: z.enum(FAULT_POINTS).describe('Injection target.'),
  matched: count.describe('Attempts or calls that the rule matched.'),
  triggered: count.describe('How often the rule was triggered.'),
  applied: count.describe('How often the fault was injected.'),
  skipped: z
    .record(z.string(), count)
    .describe('Reasons why the fault was not injected although the rule was triggered, with counts.'),
  not_triggered: z.string().nullable().describe('Why it was not triggered; null when it was.'),
})
export type RuleReport = z.infer<typeof RuleReport>
