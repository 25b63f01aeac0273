// The states of a task (the specification, "States and transitions"). They need no schema.

/** The states of a task. The last three exist in A2A and are never reached here. */
export const TASK_STATES = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'failed',
  'canceled',
  'rejected',
  'auth-required',
] as const
/** State of a task (the specification, "States and transitions"). */
export type TaskState = (typeof TASK_STATES)[number]
/** The states of a task that does not run, so that a message may continue it. */
export const INACTIVE_STATES: readonly TaskState[] = ['input-required', 'completed', 'failed', 'canceled', 'rejected']

/**
 * Whether a task in a state is running.
 * @example
 * isActive('working') // => true
 * isActive('completed') // => false
 */
export const isActive = (state: string): boolean => state === 'submitted' || state === 'working'
