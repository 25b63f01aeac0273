// Projects: the first segment of a path.
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
/** The body that creates a project. */
export const ProjectBody = z.object(fields)
/** The body that changes one. */
export const ProjectPatch = z.object(fields).partial()
/** A project in a response. */
export const Project = z.object({
  _id: Uuid,
  ...fields,
  folders: z.array(z.string()).describe('Folders created from paths, such as `support/returns`.'),
  ...common,
})
