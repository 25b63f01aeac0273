// understudy rehearse with rules about agents: it creates an agent and tasks, and draws their trees.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

// Agents work step by step, on a machine that may be busy.
setDefaultTimeout(30_000)
const folder = emptyFolder()
afterAll(folder.remove)

const rehearse = (rules: readonly object[], ...args: string[]) => {
  writeFileSync(join(folder.path, 'day.yaml'), JSON.stringify({ name: 'day', rules }))
  return runCommand(['rehearse', 'day.yaml', ...args], { cwd: folder.path })
}

const ROWS: [string, object, RegExp][] = [
  [
    'a tool',
    { match: { tool: 'current_date' }, fault: { type: 'tool-error' } },
    /tool current_date failed .*: broken$/m,
  ],
  [
    'a named agent',
    { match: { agent: 'writer', iteration: 2 }, fault: { type: 'http-error', status: 400 } },
    /task \w+ of writer, turn 1: failed \(error\)$/m,
  ],
  ['a decision', { fault: { type: 'approval-never' } }, /task \w+ of rehearsal, turn 1: input-required \(approval\)$/m],
  [
    'a cancel',
    { fault: { type: 'late-response' } },
    /tool google_search succeeded in 5000 ms, late, .*faults: broken$/m,
  ],
  ['a task', { fault: { type: 'stuck-task' } }, /task \w+ of rehearsal, turn 1: canceled$/m],
]
test.each(ROWS)('rehearse: triggers a rule about %s', async (_, rule, drawn) => {
  const { code, stdout, stderr } = await rehearse([{ name: 'broken', ...rule }], '--calls', '1')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(drawn)
  expect(stdout.match(/^agent\.task /gm)).toHaveLength(1)
  // Model calls of the task are in its tree alone.
  expect(stdout).not.toMatch(/^chat\.completions /m)
})

test('rehearse: alternates model calls and tasks when rules need both', async () => {
  const rules = [
    { name: 'of all', fault: { type: 'delay', for: '1s' } },
    { name: 'of tools', fault: { type: 'tool-error' } },
  ]
  const { code, stdout } = await rehearse(rules, '--calls', '2')
  expect(code).toBe(0)
  expect(stdout.match(/^(agent\.task|chat\.completions)/gm)).toEqual(['chat.completions', 'agent.task'])
})
