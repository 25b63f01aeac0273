// understudy seed on a terminal: its progress.
import { afterAll, expect, test } from 'bun:test'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'
import { EXECUTABLE } from '../support/server.ts'

const folder = folderWith({ 'seed.yaml': 'contacts: [{ external_id: one }]\n' })
afterAll(folder.remove)

test('seed command: shows progress on a terminal after a second, and nowhere else', async () => {
  const looks = [0, 1, 3]
  const { promise: watched, resolve: enough } = Promise.withResolvers<void>()
  // A server that is done once it has been asked how far it is.
  const slow = Bun.serve({
    port: 0,
    async fetch({ method }) {
      if (method === 'POST') await watched
      if (method === 'POST') return Response.json({ sessions: ['default'] })
      if (looks.length === 1) enough()
      return Response.json({ done: looks.length > 1 ? looks.shift() : looks[0], total: 4 })
    },
  })
  const url = slow.url.origin
  const screen: string[] = []
  const terminal = {
    cols: 100,
    rows: 30,
    data: (_: unknown, bytes: Uint8Array) => screen.push(`${Buffer.from(bytes)}`),
  }
  const child = Bun.spawn([EXECUTABLE, 'seed', 'seed.yaml', '--url', url], { cwd: folder.path, terminal })
  expect(await child.exited).toBe(0)
  expect(screen.join('')).toContain('seeding from seed.yaml: 25 %')
  expect(screen.join('')).toContain('seeded from seed.yaml')
  expect(await runCommand(['seed', 'seed.yaml', '--url', url], { cwd: folder.path })).toEqual({
    code: 0,
    stdout: 'seeded from seed.yaml\n',
    stderr: '',
  })
  await slow.stop(true)
})
