// When the job ends: prints the calls of one that has failed, writes the report of a server that was left running, and stops it.
import { join } from 'node:path'
import { endGroup, getInput, getState, info, startGroup } from '@actions/core'
import { uploadReport } from './artifact.ts'
import { reportName, workFolder } from './inputs.ts'
import { runProgram } from './process.ts'

/** Calls that are drawn. */
const MAX_DRAWN = 10

/** Cleans up, whatever has happened before. */
export async function post(): Promise<void> {
  const executable = getState('executable')
  if (executable === '') return
  const url = getState('url')
  const databases: string[] = JSON.parse(getState('databases') || '[]')
  // The runner evaluates the input again when the job ends.
  const failed = getState('failed') === 'true' || getInput('job-status') === 'failure'
  const sources = url === '' ? databases.map((file) => ['--db', file]) : [['--url', url, '--session', 'all']]
  if (failed) for (const source of sources) await printCalls(executable, source)
  if (url === '') return
  const report = join(workFolder(), 'report.html')
  const { code } = await runProgram(executable, ['trace', 'export', '--html', report, '--url', url])
  if (code === 0) await uploadReport(report, reportName())
  stop(Number(getState('pid')))
}

/** Draws the last calls, those that failed before others. */
async function printCalls(executable: string, source: readonly string[]): Promise<void> {
  const { stdout } = await runProgram(executable, ['trace', 'list', '--json', '--limit', '200', ...source])
  const traces = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): { id: string; outcome: string } => JSON.parse(line))
  const wrong = traces.filter(({ outcome }) => outcome !== 'succeeded')
  const shown = (wrong.length > 0 ? wrong : traces).slice(0, MAX_DRAWN).reverse()
  startGroup(`Understudy: ${shown.length} of the last ${traces.length} calls`)
  for (const { id } of shown) {
    info((await runProgram(executable, ['trace', 'show', id, '--brief', ...source])).stdout)
  }
  endGroup()
}

function stop(pid: number): void {
  try {
    process.kill(pid)
  } catch {
    // It has ended already.
  }
}
