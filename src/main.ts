// The compile entry.
import { runCli } from './cli/index.ts'
import { processIo } from './cli/io.ts'
import { compileAsUsualSoon } from './lib/jit-policy.ts'

compileAsUsualSoon()
// Not awaited: the runtime gives back the executable's pages that it has read once this module has been evaluated.
void runCli(process.argv.slice(2), processIo()).then((code) => process.exit(code))
