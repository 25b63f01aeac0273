// Whoever reads that a server is ready may stop it at once.
import { expect, test } from 'bun:test'
import { runCli } from '../../src/cli/index.ts'
import { testIo } from '../support/cli.ts'

test('serve: can be stopped when it reports that it is ready', async () => {
  const io = testIo()
  let listens = false
  const onStop: typeof io.signals.onStop = (hear) => {
    listens = true
    return io.signals.onStop(hear)
  }
  const listening = Promise.withResolvers<boolean>()
  const running = runCli(['serve', '--port', '0', '--db', ':memory:', '--json'], {
    ...io,
    signals: { ...io.signals, onStop },
    stdout: { ...io.stdout, text: () => listening.resolve(listens) },
  })
  expect(await listening.promise).toBe(true)
  io.stop('SIGTERM')
  expect(await running).toBe(0)
})
