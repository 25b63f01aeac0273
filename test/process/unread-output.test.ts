// The reader of the program's output may stop reading or disconnect: calls are answered all the same.
import { afterAll, expect, test } from 'bun:test'
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { EXECUTABLE, emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })
const call = async (url: string) =>
  (await fetch(`${url}/v2/router/chat/completions`, { method: 'POST', headers, body })).status

let count = 0
const newPath = (name: string) => join(folder.path, `${name}-${count++}`)

/** A pipe with a name: its end for the server, what fills it, and what closes the end of a reader who reads nothing. */
function pipe() {
  const path = newPath('pipe')
  Bun.spawnSync(['mkfifo', path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, 'w')
  // Another end than the server's, which waits for space as usual.
  const fill = () => {
    const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    expect(() => {
      for (;;) writeSync(filler, 'x'.repeat(256))
    }).toThrow('EAGAIN')
    closeSync(filler)
  }
  return { writer, fill, close: () => closeSync(reader) }
}

const serve = (args: readonly string[], ready: string) => [
  ...[EXECUTABLE, 'serve', '--port', '0', '--db', ':memory:', '--ready-file', ready],
  ...args,
]

async function startedWith(ready: string): Promise<{ url: string; pid: number }> {
  while (!existsSync(ready)) await Bun.sleep(5)
  return JSON.parse(readFileSync(ready, 'utf8')) as { url: string; pid: number }
}

const onPosix = test.skipIf(process.platform === 'win32')
const LOGS: [string, string[]][] = [
  ['no flag', []],
  ['--log json', ['--log', 'json']],
  ['--verbose', ['--verbose']],
  ['--log json --verbose', ['--log', 'json', '--verbose']],
]

/** Calls, and paths that are nowhere: each of the latter has a line without any flag. */
async function callAround(url: string, times: number) {
  for (let turn = 0; turn < times; turn++) {
    expect(await call(url)).toBe(200)
    expect((await fetch(`${url}/nowhere-${turn}/${'x'.repeat(400)}`, { headers })).status).toBe(404)
  }
}

onPosix.each(LOGS)(
  'unread output with %s: does not stop a server, even when the reader disconnects',
  async (_, args) => {
    const ready = newPath('ready')
    const { writer, fill, close } = pipe()
    const child = Bun.spawn(serve(args, ready), { cwd: folder.path, stdout: writer, stderr: writer })
    closeSync(writer)
    const { url } = await startedWith(ready)
    // It answers when it has printed that it is ready, which is the only thing that it waits for.
    expect(await call(url)).toBe(200)
    fill()
    await callAround(url, 20)
    close()
    await callAround(url, 20)
    expect(child.exitCode).toBeNull()
    child.kill()
    expect(await child.exited).toBe(0)
  },
)

onPosix('unread output of exec: does not change the exit code of the command', async () => {
  const { writer, close } = pipe()
  close()
  const command = [EXECUTABLE, 'exec', '--scenario', 'rate-limit-burst', '--', 'sh', '-c', 'exit 7']
  const child = Bun.spawn(command, { cwd: folder.path, stdout: writer, stderr: writer })
  closeSync(writer)
  expect(await child.exited).toBe(7)
})
