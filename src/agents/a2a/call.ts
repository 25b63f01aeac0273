// The context of the A2A methods.
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
  /** Aborts when the client disconnects. */
  signal: AbortSignal
}
