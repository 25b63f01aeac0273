// What the methods of A2A work on.
import type { AgentCard } from '@a2a-js/sdk'
import type { Fields } from '../../contract/workspace/record.ts'
import type { TaskService } from '../loop/tasks.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import type { TaskOwner } from '../store/store.ts'

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
