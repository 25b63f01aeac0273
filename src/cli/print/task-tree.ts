// The tree of an agent's task: its iterations, each with the model's attempts, the tools, the waits and the sub-agents.

import { outcomeText } from '../../contract/core/outcome-text.ts'
import type { AttemptRecord, TaskStep, TaskTrace, TraceRecord } from '../../contract/core/trace.ts'
import { STEP_TITLES } from '../../views/call-waterfall.ts'
import { timeText } from '../../views/waterfall.ts'
import { type Format, paint, wrapText } from './output.ts'

interface TreeNode {
  text: string
  format?: Format | undefined
  children: TreeNode[]
}

/** Known traces by id. */
type RelatedTraces = ReadonlyMap<string, TraceRecord>

/** Maximum number of traces that are read for one tree. Others are drawn without their own steps. */
const MAX_RELATED = 200
/** Minimum columns of a text, however deep it is. */
const NARROWEST_TEXT = 12
/** Indentation of a continuation line. */
const HANGING = 2

/** The traces of the steps of a task, and of its sub-tasks. Deleted ones are omitted. */
export async function relatedTraces(
  trace: TraceRecord,
  get: (id: string) => Promise<TraceRecord>,
): Promise<RelatedTraces> {
  const found = new Map<string, TraceRecord>()
  const waiting = idsOf(trace)
  for (let id = waiting.shift(); id !== undefined && found.size < MAX_RELATED; id = waiting.shift()) {
    if (found.has(id)) continue
    const one = await get(id).catch(() => undefined)
    if (!one) continue
    found.set(id, one)
    waiting.push(...idsOf(one))
  }
  return found
}

const idsOf = ({ task }: TraceRecord): string[] =>
  (task?.steps ?? []).flatMap(({ trace }) => (trace === null ? [] : [trace]))

/** The lines of the tree, wrapped to the width. */
export function taskTree(task: TaskTrace, related: RelatedTraces, width: number): string[] {
  const root: TreeNode = {
    text: `task ${task.id} of ${task.agent}, turn ${task.turn}: ${endOf(task)}`,
    format: 'bold',
    children: iterations(task, related, new Set()),
  }
  const draw = ({ text, format, children }: TreeNode, first: string, rest: string): string[] => [
    ...wrapText(text, Math.max(NARROWEST_TEXT, width - first.length - HANGING)).map(
      (line, index) => `${index === 0 ? first : under(rest, children)}${format ? paint(format, line) : line}`,
    ),
    ...children.flatMap((child, index) =>
      index === children.length - 1 ? draw(child, `${rest}└ `, `${rest}  `) : draw(child, `${rest}├ `, `${rest}│ `),
    ),
  ]
  return draw(root, '  ', '  ')
}

/** A continuation line keeps the branch to its children. */
const under = (rest: string, children: readonly TreeNode[]) => (children.length > 0 ? `${rest}│ ` : `${rest}  `)

const endOf = ({ state, finish_reason: reason }: TaskTrace) =>
  reason === null || reason === 'stop' || reason === state ? state : `${state} (${reason})`

/** `above` are the enclosing traces. */
function iterations(task: TaskTrace, related: RelatedTraces, above: ReadonlySet<string>): TreeNode[] {
  const nodes: (TreeNode & { iteration: number })[] = []
  for (const step of task.steps) {
    const last = nodes.at(-1)
    const node = stepNode(step, related, above)
    if (last?.iteration === step.iteration) last.children.push(node)
    else nodes.push({ iteration: step.iteration, text: `iteration ${step.iteration}`, children: [node] })
  }
  return nodes
}

const FORMATS: Record<TaskStep['outcome'], Format> = { succeeded: 'green', failed: 'red', waiting: 'yellow' }

function stepNode(step: TaskStep, related: RelatedTraces, above: ReadonlySet<string>): TreeNode {
  const { kind, name, outcome, duration_ms, error, fixture, late, faults = [], trace, evaluations = [] } = step
  const own = trace === null || above.has(trace) ? undefined : related.get(trace)
  const lines = [
    ...(kind === 'wait' ? [] : [`${outcome} in ${timeText(duration_ms)}`]),
    ...(own?.task ? [endOf(own.task)] : []),
    ...(error === null ? [] : [error]),
    ...(late ? ['late'] : []),
    ...(fixture === undefined ? [] : [`fixture ${fixture}`]),
    ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
    ...evaluations.map(({ id, value }) => `evaluator ${id}: ${value}`),
  ]
  const inside = trace === null ? above : new Set([...above, trace])
  return {
    text: [`${STEP_TITLES[kind]} ${name}`, lines.join(', ')].filter((part) => part !== '').join(' '),
    format: FORMATS[outcome],
    children: own?.task ? iterations(own.task, related, inside) : attemptNodes(own?.attempts ?? []),
  }
}

/** A single successful attempt adds nothing to its step. */
function attemptNodes(attempts: readonly AttemptRecord[]): TreeNode[] {
  if (attempts.length === 1 && attempts[0]?.outcome === 'succeeded' && attempts[0].faults.length === 0) return []
  return attempts.map(({ target, reason: why, outcome, status, duration_ms, wait_ms, faults, error }) => ({
    text: [
      `${why} ${target} ${outcomeText(outcome)} ${status} in ${timeText(duration_ms)}`,
      ...(wait_ms > 0 ? [`after ${timeText(wait_ms)}`] : []),
      ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
      ...(error === null ? [] : [error]),
    ].join(', '),
    format: outcome === 'succeeded' ? 'green' : 'red',
    children: [],
  }))
}
