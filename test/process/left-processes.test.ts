// Processes that outlive a command: only a real one has an entry in /proc.
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { endLeftProcesses } from '../../src/cli/run/left-processes.ts'

/** A command that has ended. */
async function endedRun(name: string) {
  const command = Bun.spawn(['true'], { detached: true })
  await command.exited
  return { group: command.pid, variable: `LEFT_PROCESSES_TEST=${process.pid}-${name}` }
}

const onLinux = test.skipIf(process.platform !== 'linux')

onLinux('left processes: are ended wherever they are, by their variable', async () => {
  const run = await endedRun('own')
  const [name = '', value = ''] = run.variable.split('=')
  const left = Bun.spawn(['sleep', '60'], { env: { [name]: value }, detached: true })
  expect(await endLeftProcesses(run)).toBe(true)
  await left.exited
  expect(left.signalCode).toBe('SIGKILL')
})

onLinux('left processes: are none while another process has no variables, which is waited for', async () => {
  const run = await endedRun('other')
  const other = Bun.spawn(['sleep', '60'], { env: {}, detached: true })
  expect(readFileSync(`/proc/${other.pid}/environ`, 'latin1')).toBe('')
  const ending = endLeftProcesses(run)
  // Without waiting, it would have ended before the next timer.
  expect(await Promise.race([ending, Bun.sleep(0).then(() => 'waits')])).toBe('waits')
  expect(await ending).toBe(false)
  expect(existsSync(`/proc/${other.pid}`)).toBe(true)
  other.kill()
  await other.exited
})
