// Slow: it starts a server for each check. The script shows on other systems what cannot be tested here; here it passes.
import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('platform check: passes on this system', async () => {
  const script = join(import.meta.dir, '..', '..', 'release', 'check-platform.ts')
  const child = Bun.spawn([process.execPath, script], { stdout: 'pipe' })
  const printed = await new Response(child.stdout).text()
  expect([await child.exited, printed]).toEqual([0, expect.stringContaining('8 passed, 0 failed')])
}, 60_000)
