// npm start: whatever started the server can stop it, even a process manager that knows only npm's process.
import { afterAll, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const bootstrap = join(import.meta.dir, '..', '..', 'src', 'build', 'bootstrap.mjs')

test.each(['the shell that npm runs it in', 'the bootstrap itself'])(
  'bootstrap: stops with the server when the signal goes to %s',
  async (who) => {
    const ready = join(folder.path, `${who.length}.json`)
    const command = `node '${bootstrap}' start --port 0 --db :memory: --ready-file '${ready}'`
    // A shell that has something to do afterwards stays in between, as npm's does.
    const shell = Bun.spawn(['sh', '-c', who.startsWith('the shell') ? `${command}; :` : `exec ${command}`], {
      cwd: folder.path,
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const reader = shell.stdout.getReader()
    while (!existsSync(ready)) if ((await reader.read()).done) throw new Error('it ended before it was ready')
    const { url } = JSON.parse(readFileSync(ready, 'utf8')) as { url: string }
    const health = () => fetch(`${url}/_understudy/health`).catch(() => undefined)
    expect((await health())?.status).toBe(200)
    shell.kill('SIGTERM')
    await shell.exited
    // Its end of the pipe is closed when the last of them is gone.
    while (!(await reader.read()).done);
    expect(await health()).toBeUndefined()
  },
)
