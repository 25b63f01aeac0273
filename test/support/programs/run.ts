// Runs a program as a process of its own: run.ts NAME ARGUMENTS...
import { programNamed } from './index.ts'

const [name = '', ...args] = process.argv.slice(2)
const program = (await programNamed(name))(...args)
const code = await program({
  env: process.env,
  fetch,
  sleep: (ms) => Bun.sleep(ms),
  say: (text) => void process.stdout.write(`${text}\n`),
})
process.exit(typeof code === 'number' ? code : 0)
