// `npm run docs`: writes the pages of the reference, then builds the site that the executable serves at /docs.
import { join } from 'node:path'
import { referencePages } from './reference.ts'
import { siteFile } from './site.ts'

const root = join(import.meta.dir, '..', '..')
for (const [path, text] of Object.entries(await referencePages())) await Bun.write(join(root, path), text)
await siteFile()
console.error('built dist/docs')
