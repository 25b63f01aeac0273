// A run of exec can be saved, limited and stopped.
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runLines } from '../../src/cli/print/report.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { plainLines, runCommand, serveHere } from '../support/cli.ts'
import { play, program } from '../support/exec.ts'
import { client } from '../support/in-process.ts'
import { EXECUTABLE, emptyFolder, environment, run } from '../support/server.ts'

// Each test starts programs, on a machine that may be busy.
setDefaultTimeout(60_000)
const folder = emptyFolder()
afterAll(folder.remove)
const inFolder = (name: string) => join(folder.path, name)

describe('exec run', () => {
  test('is saved in a file with all its sessions', async () => {
    const db = inFolder('run.db')
    for (let turn = 0; turn < 2; turn++) {
      const { run: played } = await play(client('openai', 'sessions', '2'), undefined, { db })
      expect(plainLines(runLines(played)).at(-1)).toBe(`  saved         understudy trace list --db ${db}`)
    }
    const list = async (...args: string[]) => {
      const { stdout } = await runCommand(['trace', '--db', db, 'list', '--json', ...args])
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as TraceRecord).session)
    }
    // The second run takes the place of the first.
    expect((await list()).sort()).toEqual(['worker-1', 'worker-2'])
    expect(await list('--session', 'worker-2')).toEqual(['worker-2'])
    const shown = await runCommand(['trace', '--db', db, 'show', 'last', '--json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({ request: { messages: [{ content: 'weather' }] } })
  })

  test('is saved in a file for each scenario and seed when there are several', async () => {
    const db = inFolder('many.db')
    const { runs } = await play(client('plain', 'one'), undefined, { db, seeds: [1, 2] })
    expect(runs.map((one) => one.db)).toEqual([
      inFolder('many.no-scenario-seed-1.db'),
      inFolder('many.no-scenario-seed-2.db'),
    ])
    expect(runs.every((one) => existsSync(one.db ?? ''))).toBe(true)
  })

  test('gets the same input for each scenario and seed', async () => {
    const command = ['exec', '--seed', '1', '--seed', '2', '--json', '--', 'cat']
    const { stdout } = await run(command, { cwd: folder.path, input: 'a question\n' })
    expect(stdout.split('\n').filter((line) => line === 'a question').length).toBe(2)
  })

  test('is not saved over the database of a server', async () => {
    const server = await serveHere(['--db', inFolder('server.db')], {})
    await fetch(`${server.url}/v2/contacts`, { headers: { authorization: 'Bearer any' } })
    await server.stop()
    await expect(play(client('plain', 'one'), undefined, { db: inFolder('server.db') })).rejects.toThrow(
      'server.db is that of a server, which a run would replace',
    )
  })

  test('is ended with all its processes and reported when its time is up', async () => {
    const file = inFolder('pid')
    // A busy machine may need longer to start both.
    for (let timeout = 1_500; !existsSync(file); timeout *= 3) {
      const { code, run: played } = await play(program('plain', 'parent', '0', file), undefined, { timeout })
      expect({ code, timedOut: played.timed_out }).toEqual({ code: 124, timedOut: true })
      expect(plainLines(runLines(played))[0]).toMatch(
        /^Understudy: no scenario: FAIL: the command was ended after [\d.]+ m?s by --timeout$/,
      )
    }
    const state = () =>
      Bun.spawnSync(['ps', '-o', 'stat=', '-p', readFileSync(file, 'utf8')])
        .stdout.toString()
        .trim()
    // Gone, or dead and not yet taken note of.
    while (/^[^Z]/.test(state())) await Bun.sleep(50)
    expect(state()).toMatch(/^(Z.*)?$/)
  })

  test('is reported when it is stopped by Ctrl-C', async () => {
    const command = ['exec', '--scenario', 'rate-limit-burst', '--', ...program('plain', 'one then sleeping')]
    const child = Bun.spawn([EXECUTABLE, ...command], {
      cwd: folder.path,
      env: environment(),
      stdout: 'pipe',
    })
    const decoder = new TextDecoder()
    let printed = ''
    for await (const bytes of child.stdout) {
      printed += decoder.decode(bytes, { stream: true })
      if (printed.includes('status 429') && child.exitCode === null && !printed.includes('Understudy'))
        child.kill('SIGINT')
    }
    await child.exited
    expect(printed).toContain('Understudy: rate-limit-burst: FAIL: the command failed with exit code 130')
    expect(printed).toContain('  calls         1, 1 attempt, direct')
    expect(child.exitCode).toBe(130)
  })

  test('accepts the flags of serve', async () => {
    const flags = ['--on-unmatched', 'error', '--token', 'secret', '--seed', '7']
    const { code, stdout } = await run(['exec', ...flags, '--', ...program('plain', 'one')], { cwd: folder.path })
    expect(stdout).toContain('404')
    expect(stdout).toContain('1 call matched no fixture')
    expect(code).toBe(0)
  })
})
