// The compile entry.
import { runCli } from './cli/index.ts'
import { processIo } from './cli/io.ts'
import { compileAsUsualSoon } from './lib/jit-policy.ts'

compileAsUsualSoon()
process.exit(await runCli(process.argv.slice(2), processIo()))
