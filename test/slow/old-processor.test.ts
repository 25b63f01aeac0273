// Runs the executable on an emulated processor, which is slow: one of 2008 that has no AVX.
import { describe, expect, test } from 'bun:test'
import { EXECUTABLE, emptyFolder } from '../support/server.ts'

const QEMU = Bun.which('qemu-x86_64')

describe.skipIf(!QEMU || process.platform !== 'linux' || process.arch !== 'x64')('executable', () => {
  test('answers a call on a processor without AVX', async () => {
    const folder = emptyFolder()
    const command = [QEMU ?? '', '-cpu', 'Nehalem-v1', EXECUTABLE, 'serve', '--port', '0', '--json', '--db', ':memory:']
    const child = Bun.spawn(command, { cwd: folder.path, stdout: 'pipe' })
    const { value } = await child.stdout.getReader().read()
    const { url } = JSON.parse(new TextDecoder().decode(value))
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })
    expect((await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).status).toBe(200)
    child.kill()
    await child.exited
    folder.remove()
  }, 120_000)
})
