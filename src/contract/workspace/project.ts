// Projects: what the first name of a path stands for.
import { z } from 'zod'
import { common, Uuid } from './shared.ts'

const fields = {
  name: z
    .string()
    .min(1)
    .regex(/^[^/]+$/, { error: "must be a name without '/'" })
    .describe('Must be unique in the workspace. The first segment of a path.'),
  description: z.string().optional(),
}
/** What makes a project. */
export const ProjectBody = z.object(fields)
/** What changes one. */
export const ProjectPatch = z.object(fields).partial()
/** A project as it is answered. */
export const Project = z.object({
  _id: Uuid,
  ...fields,
  folders: z.array(z.string()).describe('Folders created from paths, such as `support/returns`.'),
  ...common,
})
