// understudy scenario: the shipped scenarios, listed and printed as files to start your own from.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

// Each test starts the executable, on a machine that may be busy.
setDefaultTimeout(30_000)
const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)
const scenarios = join(import.meta.dir, '..', '..', 'scenarios')
const namesIn = (path: string) =>
  readdirSync(path)
    .flatMap((file) => (file.endsWith('.yaml') ? [file.replace(/\.yaml$/, '')] : []))
    .sort()
const general = namesIn(scenarios)
const incidents = namesIn(join(scenarios, 'incidents'))
const names = [...general, ...incidents]

test('scenario list: prints one line for each shipped scenario', async () => {
  const { code, stdout, stderr } = await runCommand(['scenario', 'list'], { cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.split(' ')[0] ?? '')).toEqual([...general, '', 'Past', ...incidents])
  expect(lines.find((line) => line.startsWith('black-hole '))).toMatch(/^black-hole +No call ever gets a response\.$/)
})

test('scenario list --json: has the name, description and needs of each', async () => {
  const { stdout } = await runCommand(['scenario', 'list', '--json'], { cwd })
  const listed = JSON.parse(stdout) as {
    name: string
    description: string
    needs: object
    incident: boolean
  }[]
  expect(listed.map(({ name }) => name)).toEqual(names)
  expect(listed.find(({ name }) => name === 'brown-out')).toEqual({
    name: 'brown-out',
    description: expect.any(String),
    needs: { calls: 4, elapsed: 30_000 },
    incident: false,
  })
  expect(listed.filter(({ incident }) => incident).map(({ name }) => name)).toEqual(incidents)
  expect(listed.find(({ name }) => name === 'outage')?.needs).toEqual({})
})

test('scenario show: prints the file with its comments, which is a valid scenario of your own', async () => {
  const { code, stdout, stderr } = await runCommand(['scenario', 'show', 'black-hole'], { cwd })
  expect({ code, stderr, stdout }).toEqual({
    code: 0,
    stderr: '',
    stdout: readFileSync(join(scenarios, 'black-hole.yaml'), 'utf8'),
  })
  writeFileSync(join(cwd, 'mine.yaml'), stdout)
  expect((await runCommand(['check', 'mine.yaml'], { cwd })).stdout).toBe('1 scenario, 0 warnings\n')
})

test('scenario show: names the scenario that was probably meant', async () => {
  const { code, stdout, stderr } = await runCommand(['scenario', 'show', 'blackhole'], { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toStartWith(
    `understudy: there is no scenario "blackhole" (did you mean 'black-hole'?); shipped: ${names[0]}, `,
  )
})
