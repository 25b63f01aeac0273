// The compile entry.
import { runCli } from './cli/index.ts'
import { compileAsUsualSoon } from './lib/jit-policy.ts'

compileAsUsualSoon()
await runCli(process.argv.slice(2))
