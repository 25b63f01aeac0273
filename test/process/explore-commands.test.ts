// explore with commands that detach, ignore signals or cannot end: they are processes, whose starts take their time.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openRunFile } from '../../src/db/run-file.ts'
import { runCommand } from '../support/cli.ts'
import { EXECUTABLE, emptyFolder, environment, run } from '../support/server.ts'

setDefaultTimeout(60_000)
const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)

/** Calls a model; \`tries\` times if that fails. */
const CALL = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env
export const ask = async (content, tries = 3) => {
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content }] })
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
  const response = await fetch(base + '/chat/completions', { method: 'POST', headers, body })
  if (response.ok) return response.json()
  if (tries === 1) throw new Error('status ' + response.status)
  await Bun.sleep(20)
  return ask(content, tries - 1)
}
`
writeFileSync(join(cwd, 'call.mjs'), CALL)
const program = (name: string, text: string): string[] => {
  writeFileSync(join(cwd, `${name}.mjs`), `import { ask } from './call.mjs'\n${text}`)
  return ['--', process.execPath, `${name}.mjs`]
}

async function explore(out: string, ...args: string[]) {
  const { code, stdout, stderr } = await runCommand(['explore', '--out', out, '--json', ...args], { cwd })
  return { code, stderr, report: JSON.parse(stdout) }
}
const isRunning = (pid: number) => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ')
  } catch {
    return false
  }
}

test.skipIf(process.platform !== 'linux')(
  'explore: ends the processes that a command leaves running, and says that their calls are not tested',
  async () => {
    const command = program(
      'detaches',
      `import { appendFileSync } from 'node:fs'
if (process.argv[2] === 'child') setInterval(() => {}, 1_000)
else {
  await ask('Hi')
  const { pid } = Bun.spawn([process.execPath, 'detaches.mjs', 'child'], { stdio: ['ignore', 'ignore', 'ignore'], detached: true })
  appendFileSync('pids', pid + '\\n')
  process.exit()
}`,
    )
    const { report, code } = await explore('detached', '--failure-mode', 'server-error-once', ...command)
    expect([code, report.left_processes, report.cases[0].result]).toEqual([0, true, 'tolerated'])
    const pids = readFileSync(join(cwd, 'pids'), 'utf8').trim().split('\n').map(Number)
    expect(pids.length).toBeGreaterThan(2)
    expect(pids.filter(isRunning)).toEqual([])
  },
)

test('explore: says what to do if only a process that the command leaves behind calls', async () => {
  const { report, code } = await explore('left', '--', 'sh', '-c', `sleep 5 & exit 0`)
  expect([code, report.left_processes, report.inconclusive]).toEqual([
    3,
    true,
    [expect.stringContaining('left processes running: explore a command that waits for them')],
  ])
})

test('explore: gives each run the same input', async () => {
  const command = program('reads', 'for (const line of (await Bun.stdin.text()).trim().split("\\n")) await ask(line)')
  const args = ['explore', '--out', 'input', '--failure-mode', 'server-error-once', '--json']
  const { code, stdout } = await run([...args, ...command], { cwd, input: 'one\ntwo\n' })
  const { cases } = JSON.parse(stdout)
  expect([code, cases.map(({ result }: { result: string }) => result)]).toEqual([0, ['tolerated', 'tolerated']])
})

test('explore: leaves the state of another exploration in the same folder alone', async () => {
  const out = join(cwd, 'shared')
  mkdirSync(out)
  const other = openRunFile(join(out, 'runs.db'))
  const state = join(out, 'state.jsonl')
  writeFileSync(state, 'results of the other one')
  const second = await runCommand(['explore', '--out', 'shared', '--', 'true'], { cwd })
  other.close()
  expect([second.code, second.stderr, readFileSync(state, 'utf8')]).toEqual([
    1,
    'understudy: database shared/runs.db is in use by another understudy: name another folder with --out\n',
    'results of the other one',
  ])
})

test('explore: says which address to call if the command calls nothing', async () => {
  const { report, code } = await explore('nothing', '--', 'true')
  expect([code, report.inconclusive]).toEqual([
    3,
    [expect.stringContaining('should call the address in OPENAI_BASE_URL')],
  ])
})

test('explore: ends a command that hangs and ignores signals', async () => {
  const command = program('ignores', `process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); await ask('Hi')`)
  const began = performance.now()
  const flags = ['--failure-mode', 'timeout', '--hang-limit', '500ms']
  const { report } = await explore('ignoring', ...flags, ...command)
  expect(report.cases).toMatchObject([{ result: 'hung', reason: expect.stringContaining('raise --hang-limit') }])
  expect(report.problems[0].command).toContain('--hang-limit 500ms')
  expect(performance.now() - began).toBeLessThan(20_000)
})

test('explore: ends within 2 s of Ctrl-C with a report, and resumes', async () => {
  const command = program('interrupted', `process.on('SIGINT', () => {}); await ask('Hi')`)
  const flags = ['--failure-mode', 'server-error-once', '--failure-mode', 'timeout', '--hang-limit', '60s']
  const args = ['explore', '--out', 'stopped', '--json', ...flags, ...command]
  const child = Bun.spawn([EXECUTABLE, ...args], { cwd, env: environment(), stdout: 'pipe', stderr: 'pipe' })
  const results = () => readFileSync(join(cwd, 'stopped', 'state.jsonl'), 'utf8').split('\n').length - 2
  while ((await Bun.file(join(cwd, 'stopped', 'state.jsonl')).exists()) === false || results() < 1) await Bun.sleep(20)
  const stopped = performance.now()
  child.kill('SIGINT')
  const report = JSON.parse(await new Response(child.stdout).text())
  expect([await child.exited, performance.now() - stopped < 2_000]).toEqual([130, true])
  expect([report.cases.length, report.not_run.length]).toEqual([1, 1])
  const rest = await explore('stopped', '--resume', ...flags.slice(0, 4), '--hang-limit', '500ms', ...command)
  expect(rest.report.cases.map((one: { result: string }) => one.result)).toEqual(['tolerated', 'hung'])
})

test('explore budget: ends a run in progress when the time is up', async () => {
  const command = program('slow', `await ask('Hi')`)
  const began = performance.now()
  const flags = ['--failure-mode', 'timeout', '--hang-limit', '60s', '--budget', '4s']
  const { report, code } = await explore('budget', ...flags, ...command)
  expect(performance.now() - began).toBeLessThan(6_000)
  expect([code, report.cases, report.not_run.length]).toEqual([3, [], 1])
})

test('explore: gives each run a number and an empty folder', async () => {
  const command = program(
    'numbered',
    `import { appendFileSync, readdirSync, writeFileSync } from 'node:fs'
const { UNDERSTUDY_RUN: run, UNDERSTUDY_RUN_DIR: folder } = process.env
appendFileSync('runs', run + ' ' + readdirSync(folder).length + ' ' + folder + '\\n')
writeFileSync(folder + '/state', run)
await ask('Hi')`,
  )
  const { report } = await explore('numbers', '--jobs', '2', '--failure-mode', 'server-error-once', ...command)
  const runs = readFileSync(join(cwd, 'runs'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
  expect(runs.map(([number]) => Number(number)).toSorted()).toEqual([1, 2, 3, 4])
  expect([...new Set(runs.map(([, files]) => files))]).toEqual(['0'])
  expect(new Set(runs.map(([, , path]) => path)).size).toBe(4)
  expect(report.serial_reason).toBeNull()
})
