// What an agent has cost in all its tasks.
import { agents } from '../resources/agents.ts'
import type { Session } from '../sessions/sessions.ts'
import type { AgentTaskRecord } from './manifest.ts'

/** Adds to what the agent has cost in all; belongs inside a transaction. */
export function charge(session: Session, { totals, workspace_id, agent_id }: AgentTaskRecord): void {
  const cost = totals.cost - totals.billed
  const found = cost > 0 ? session.records.get(agents.kind, workspace_id, agent_id)?.body : undefined
  if (!found) return
  const body = { ...found, total_cost: Number(found.total_cost ?? 0) + cost }
  session.records.update(agent_id, { key: String(found.key), body })
}
