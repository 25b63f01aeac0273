// Recordings that are killed with SIGKILL: nothing half may be taken for whole, and an older cassette stays.

import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkCassette } from '../../src/cassettes/check.ts'
import { besideFile } from '../../src/cassettes/names.ts'
import { readCassette } from '../../src/cassettes/read.ts'
import { answered, chatInteraction, frame, newHeader, writeCassette } from './cassettes.ts'
import { emptyFolder } from './server.ts'

/**
 * The program that records, as one file with its bytecode in a folder: it is started for each moment, and to load and compile its modules
 * would take most of its time.
 * @returns its path
 */
export async function buildRecorder(folder: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, 'programs', 'record-cassette.ts')],
    ...{ outdir: folder, target: 'bun', format: 'cjs', bytecode: true },
  })
  return String(outputs[0]?.path)
}

/** Starts a recording in a folder, and kills it once `lines` interactions are written, or `wait` ms later. */
async function killed(
  program: string,
  folder: string,
  { lines, wait, size }: { lines: number; wait: number; size: number },
) {
  const child = Bun.spawn([process.execPath, program, folder, String(size)], { stdout: 'pipe', stderr: 'inherit' })
  const decoder = new TextDecoder()
  let printed = ''
  let isKilled = false
  for await (const piece of child.stdout) {
    printed += decoder.decode(piece, { stream: true })
    if (isKilled || printed.split('\n').length <= lines) continue
    isKilled = true
    await Bun.sleep(wait)
    child.kill('SIGKILL')
  }
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  return printed.split('\n').filter((line) => line.startsWith('written ')).length
}

/**
 * Kills recordings at several moments, those of new cassettes and of renewed ones in turn. What was written is read
 * again, the recording counts as incomplete, and an older cassette is as before.
 */
export async function killRecordings(moments: number): Promise<void> {
  const built = emptyFolder()
  const program = await buildRecorder(built.path)
  for (let moment = 0; moment < moments; moment++) {
    const folder = emptyFolder()
    const isRenewed = moment % 2 === 1
    const older = isRenewed
      ? await writeCassette(folder.path, newHeader('killed'), [
          chatInteraction({}, { attempts: [answered(frame(1, 'old'))] }),
        ])
      : undefined
    const isLarge = moment % 3 === 0
    const size = isLarge ? 1_000_000 : 20_000
    const written = await killed(program, folder.path, { lines: 1 + (moment % 4), wait: moment % 7, size })
    const file = join(folder.path, 'killed.yaml')
    const draft = isRenewed ? besideFile(file, 'incomplete') : file
    const { header, interactions } = readCassette(draft)
    expect(header.state).toBe('incomplete')
    expect(interactions.length).toBeGreaterThanOrEqual(written)
    for (const [number, { request, attempts }] of interactions.entries()) {
      expect(request.body).toEqual({ kind: 'json', value: { number } })
      expect(attempts[0]?.response?.frames[0]?.bytes).toHaveLength(size)
    }
    // The check reads a cassette in the same way: megabytes show nothing more.
    if (!isLarge) expect(checkCassette(draft).problems).toEqual([expect.stringContaining('state is incomplete')])
    if (older) {
      expect(readFileSync(file, 'utf8')).toBe(older.text)
      expect(checkCassette(file).problems).toEqual([])
    }
    folder.remove()
  }
  built.remove()
}
