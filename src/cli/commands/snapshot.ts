// understudy snapshot, reset and seed: all data of a running server's session.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { lazy } from '../../lib/lazy.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo, Exiting } from '../io.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { type Progress, withBar } from '../print/progress.ts'
import { type SnapshotTables, snapshotDifferences } from '../print/snapshot-diff.ts'
import { callServer, type ServerFlags, withServer } from '../run/server.ts'

const seeds = lazy<typeof import('../../resources/seeds/seed-file.ts')>(() =>
  require('../../resources/seeds/seed-file.ts'),
)

interface Snapshot extends SnapshotTables {
  understudy_snapshot: number
}
const SNAPSHOT = '/_understudy/snapshot'
const SEED = '/_understudy/seed'

/** `understudy snapshot`: saves, loads or compares all data of a running server's session. */
export function snapshotCommand({ env, stdout }: CommandIo, exiting: Exiting): Command {
  const snapshot = new Command('snapshot').description('save, load or compare all data of a session')
  const sub = (name: string, description: string) => {
    const command = withServer(new Command(name).description(description).argument('<FILE>', 'the snapshot file'))
    snapshot.addCommand(command)
    return command
  }
  sub('save', 'write the session to a file').action(async (file: string, flags: ServerFlags) => {
    const text = `${JSON.stringify(await callServer({ env, flags }, 'GET', SNAPSHOT), null, 1)}\n`
    writeOutputFile(file, text)
    stdout.line(`saved ${file}`)
  })
  sub('load', 'replace the session with a snapshot').action(async (file: string, flags: ServerFlags) => {
    await callServer({ env, flags }, 'POST', SNAPSHOT, readSnapshot(file))
    stdout.line(`loaded ${file}`)
  })
  sub(
    'diff',
    'compare the session with a snapshot, record by record and field by field; exit code 1 if they differ',
  ).action(
    exiting(async (file: string, flags: ServerFlags) => {
      const before = readSnapshot(file)
      const lines = snapshotDifferences(before, await callServer<Snapshot>({ env, flags }, 'GET', SNAPSHOT))
      stdout.lines(lines.length > 0 ? lines : ['no differences'])
      return lines.length > 0 ? 1 : 0
    }),
  )
  return snapshot
}

/** `understudy reset`: deletes all data of one session or of all sessions. */
export function resetCommand({ env, stdout }: CommandIo): Command {
  return withServer(new Command('reset').description('delete all data of a session'))
    .option('--all', 'reset all sessions')
    .action(async (flags: ServerFlags & { all?: boolean }) => {
      const path = `/_understudy/reset?all=${flags.all === true}`
      const { sessions } = await callServer<{ sessions: string[] }>({ env, flags }, 'POST', path)
      stdout.line(`reset ${sessions.join(', ')}`)
    })
}

/** `understudy seed`: loads a seed file and its documents into the workspace of a session. */
export function seedCommand({ env, stdout, stderr }: CommandIo): Command {
  return withServer(new Command('seed').description('load seed data into the workspace (idempotent)'))
    .argument('<FILE>', 'the seed file')
    .action(async (file: string, flags: ServerFlags) => {
      const yaml = readText(file)
      const readBeside = (name: string) => {
        const path = join(dirname(file), name)
        return existsSync(path) ? readFileSync(path) : undefined
      }
      // Parsed here first, so that errors name the position in this file.
      const { documents } = seeds().parseSeed(yaml, file, readBeside)
      const encoded = [...documents].map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')])
      const seeding = callServer({ env, flags }, 'POST', SEED, {
        name: file,
        yaml,
        documents: Object.fromEntries(encoded),
      })
      const look = () => callServer<Progress>({ env, flags }, 'GET', SEED)
      await withBar({ stderr }, seeding, { label: `seeding from ${file}`, look })
      stdout.line(`seeded from ${file}`)
    })
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ServerError(`${file} cannot be read: ${(error as Error).message}`)
  }
}

function readSnapshot(file: string): Snapshot {
  const text = readText(file)
  let value: Partial<Snapshot> | null
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ServerError(`${file} is not a snapshot: ${(error as Error).message}`)
  }
  const { understudy_snapshot: version, tables } = value ?? {}
  if (typeof version !== 'number' || typeof tables !== 'object' || tables === null)
    throw new ServerError(
      `${file} is not a snapshot: it must contain 'understudy_snapshot' and 'tables', as 'understudy snapshot save' writes them`,
    )
  return { ...value, understudy_snapshot: version, tables }
}
