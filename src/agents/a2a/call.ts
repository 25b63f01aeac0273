// What the methods of A2A work on.
import type { AgentCard } from '@a2a-js/sdk'
import type { Fields } from '../../contract/record.ts'
import type { AgentTaskRecord } from '../manifest.ts'
import type { TaskOwner } from '../store.ts'
import type { TaskService } from '../tasks.ts'

/** One call of one agent. */
export interface AgentCall {
  tasks: TaskService
  owner: TaskOwner
  agent: Fields
  card: AgentCard
  from: AgentTaskRecord['from']
  /** Aborted when the client has gone. */
  signal: AbortSignal
}
