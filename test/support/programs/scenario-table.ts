// Writes the page of the docs about what apps experience under the shipped scenarios, from a run of them.
import { join } from 'node:path'
import { pageText, playTable } from '../scenario-table.ts'

await Bun.write(join(import.meta.dir, '..', '..', '..', 'docs', 'scenario-table.md'), pageText(await playTable()))
// Apps that gave up leave connections behind.
process.exit(0)
