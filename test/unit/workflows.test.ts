// The workflows of GitHub Actions: valid, pinned, and made of scripts that run on any machine.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validate } from '@actions/languageservice'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { STEPS } from '../../release/steps.ts'

const ROOT = join(import.meta.dir, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const WORKFLOWS = [...new Bun.Glob('.github/workflows/*.yml').scanSync({ cwd: ROOT, dot: true })].sort()

interface Step {
  run?: string
  uses?: string
  with?: Record<string, string>
}
interface Workflow {
  permissions?: object
  jobs: Record<string, { uses?: string; steps?: Step[]; 'timeout-minutes'?: number }>
}
const parsed = (path: string) => Bun.YAML.parse(read(path)) as Workflow
const jobsOf = (path: string) => Object.entries(parsed(path).jobs)
const stepsOf = (path: string) => jobsOf(path).flatMap(([, { steps = [] }]) => steps)

/** What GitHub's own validator of workflows and actions finds, with the line. */
async function problemsOf(path: string, text = read(path)): Promise<string[]> {
  const found = await validate(TextDocument.create(`file:///${path}`, 'yaml', 1, text), {
    fileProvider: {
      getFileContent: async (reference) => {
        const name = 'path' in reference ? reference.path : ''
        return { name, content: read(name) }
      },
    },
  })
  return found.map(({ range, message }) => `${path}:${range.start.line + 1} ${message}`)
}

describe('workflows', () => {
  test('are those of tests and releases', () => {
    expect(WORKFLOWS).toEqual(['.github/workflows/ci.yml', '.github/workflows/release.yml'])
  })

  test('are valid, and so is the action', async () => {
    for (const path of [...WORKFLOWS, 'action.yml']) expect(await problemsOf(path)).toEqual([])
    const [path = ''] = WORKFLOWS
    // It keeps what it has read by path.
    const wrong = read(path).replace('runs-on:', 'run-on:').replace('github.ref }}', 'github.reff }}')
    expect(await problemsOf('.github/workflows/wrong.yml', wrong)).toEqual([
      expect.stringContaining('Context access might be invalid: reff'),
      expect.stringContaining("Unexpected value 'run-on'"),
      expect.stringContaining('Required property is missing: runs-on'),
    ])
  })

  test.each(WORKFLOWS)('%s: pins actions by commit, limits rights and time', (path) => {
    for (const line of read(path)
      .split('\n')
      .filter((one) => /^\s*-? ?uses: (?!\.\/)/.test(one)))
      expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    expect(parsed(path).permissions).toEqual({ contents: 'read' })
    for (const [name, job] of jobsOf(path))
      if (!job.uses) expect([name, job['timeout-minutes']]).toEqual([name, expect.any(Number)])
  })

  test.each(WORKFLOWS)('%s: runs scripts of the repository that exist', (path) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    for (const { run } of stepsOf(path)) {
      if (run === undefined || run === 'bash .ci/run') continue
      expect(run.split('\n')).toHaveLength(1)
      const [, script = '', step] = /^npm (?:run )?([\w:-]+)(?: -- ([\w-]+).*)?$/.exec(run) ?? []
      expect(scripts).toHaveProperty(script)
      if (script === 'release') expect([...Object.keys(STEPS), 'prepare', 'publish']).toContain(step ?? '')
    }
  })

  test('release.yml: runs each step that uploads, in order', () => {
    const run = stepsOf('.github/workflows/release.yml').flatMap(({ run }) => /-- ([\w-]+)/.exec(run ?? '')?.[1] ?? [])
    expect(run).toEqual(['prepare', 'install', 'github-draft', 'npm', 'image-push', 'github-publish', 'action-tag'])
  })
})
