// The step itself: installs, then leaves a server running or runs a command, and says what came of it.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { exportVariable, info, saveState, setFailed, setOutput, summary } from '@actions/core'
import { uploadReport } from './artifact.ts'
import { type Inputs, readInputs, workFolder } from './inputs.ts'
import { install } from './install.ts'
import { leaveServer, runShown } from './process.ts'
import { type ExecRun, type ExploreReport, execSummary, exploreSummary, exploreVerdict, wrongLines } from './verdict.ts'

/** Runs the step. */
export async function main(): Promise<void> {
  const inputs = readInputs()
  const { executable, version } = await install()
  saveState('executable', executable)
  setOutput('executable', executable)
  setOutput('version', version)
  const report = join(workFolder(), 'report.html')
  setOutput('report', report)
  if (inputs.mode === 'serve') return serve(executable, inputs)
  await (inputs.mode === 'exec' ? exec : explore)(executable, inputs, report)
  if (existsSync(report)) await uploadReport(report, inputs.reportName)
}

async function serve(executable: string, { flags, cwd }: Inputs): Promise<void> {
  const { url, pid } = await leaveServer(executable, flags, cwd)
  saveState('url', url)
  saveState('pid', String(pid))
  setOutput('url', url)
  // Unchanged programs in the steps that follow are led there, as those that exec runs are.
  const token = 'session:default'
  const variables = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: token }
  const others = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: token, UNDERSTUDY_URL: url, UNDERSTUDY_BIN: executable }
  for (const [name, value] of Object.entries({ ...variables, ...others })) exportVariable(name, value)
  info(`Understudy is listening at ${url}`)
}

/** The command as a step's `run` would run it. */
const shellOf = (run: string): string[] => ['bash', '-e', '-o', 'pipefail', '-c', run]

/**
 * Runs a command of ours with more arguments; gives its exit code and the report that it writes, undefined when it wrote none. The report is
 * a file of its own: what the command prints may look like anything.
 */
async function runJudged<Report>(executable: string, [name = '', ...args]: readonly string[], cwd: string) {
  const file = join(workFolder(), 'report.json')
  // That of an earlier step.
  rmSync(file, { force: true })
  const code = await runShown(executable, [name, '--json-file', file, ...args], cwd)
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined
  return { code, report }
}

async function exec(executable: string, { flags, run, cwd }: Inputs, html: string): Promise<void> {
  const calls = join(workFolder(), 'runs.db')
  const args = ['exec', '--html', html, '--db', calls, ...flags, '--', ...shellOf(run)]
  const { code, report } = await runJudged<{ runs: (ExecRun & { db: string | null })[] }>(executable, args, cwd)
  if (!report) throw new Error(`understudy exec failed with exit code ${code}; see the log above`)
  saveState('databases', JSON.stringify(report.runs.flatMap(({ db }) => db ?? [])))
  await summary.addRaw(execSummary(run, report.runs)).write()
  setOutput('ok', code === 0)
  for (const line of report.runs.flatMap((run) => wrongLines(run))) info(line)
  if (code === 0) return
  const failed = report.runs.filter(({ verdict }) => verdict !== 'pass')
  const named = failed.map(({ name, verdict }) => `${verdict.toUpperCase()}: ${name}`)
  saveState('failed', 'true')
  setFailed(`${named.join(', ')} (exit code ${code}); see the job summary`)
}

async function explore(executable: string, { flags, run, cwd }: Inputs, html: string): Promise<void> {
  const out = join(workFolder(), 'explore')
  const args = ['explore', '--html', html, '--out', out, ...flags, '--', ...shellOf(run)]
  const { code, report } = await runJudged<ExploreReport>(executable, args, cwd)
  if (!report) throw new Error(`understudy explore failed with exit code ${code}; see the log above`)
  await summary.addRaw(exploreSummary(run, report)).write()
  setOutput('ok', code === 0)
  if (code === 0) return
  setFailed(`${exploreVerdict(report)} (exit code ${code}); see the job summary`)
}
