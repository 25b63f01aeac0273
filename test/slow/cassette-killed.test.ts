// Recordings that are killed at 60 moments (`FC_RUNS=10` makes 600) and on a full disk: each starts a process.
import { afterAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkCassette } from '../../src/cassettes/check.ts'
import { readCassette } from '../../src/cassettes/read.ts'
import { answered, chatInteraction, frame, newHeader, writeCassette } from '../support/cassettes.ts'
import { killRecordings } from '../support/killed-recording.ts'
import { runs } from '../support/property.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const onLinux = test.skipIf(process.platform !== 'linux')
const PROGRAM = join(import.meta.dir, '..', 'support', 'programs', 'record-cassette.ts')

test(
  'recording: keeps what is written and the older cassette when it is killed at 60 moments',
  () => killRecordings(runs(60)),
  300_000,
)

/** Records in a shell in which files may have so many blocks, and a write beyond is refused as on a full disk. */
async function recordedWithin(blocks: number, size: number): Promise<string[]> {
  const line = `trap '' XFSZ; ulimit -S -f ${blocks}; exec "$0" "$@"`
  const child = Bun.spawn(['sh', '-c', line, process.execPath, PROGRAM, folder.path, String(size)], { stdout: 'pipe' })
  const decoder = new TextDecoder()
  let printed = ''
  for await (const piece of child.stdout) {
    printed += decoder.decode(piece, { stream: true })
    // It goes on after the problem.
    if (/problem[\s\S]*written \d+\nwritten \d+\n/.test(printed)) break
  }
  child.kill('SIGKILL')
  await child.exited
  return printed.split('\n')
}

onLinux(
  'recording: reports a full disk once, goes on, and leaves whole interactions and the older cassette',
  async () => {
    const old = [chatInteraction({}, { attempts: [answered(frame(1, 'old'))] })]
    const { text, file } = await writeCassette(folder.path, newHeader('killed'), old)
    const lines = await recordedWithin(200, 20_000)
    const problems = lines.filter((line) => line.startsWith('problem'))
    expect(problems).toEqual([
      expect.stringMatching(
        /^problem the recording of session 'killed' stays incomplete: \S+killed~incomplete\.yaml: /,
      ),
    ])
    const before = lines.slice(0, lines.indexOf(problems[0] ?? '')).filter((line) => line.startsWith('written'))
    const { header, interactions } = readCassette(join(folder.path, 'killed~incomplete.yaml'))
    expect([header.state, interactions.length]).toEqual(['incomplete', before.length])
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(checkCassette(file).problems).toEqual([])
    expect(readdirSync(folder.path).sort()).toEqual(['killed.yaml', 'killed~incomplete.yaml'])
  },
  30_000,
)
