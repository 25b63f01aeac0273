// Contacts: the end users of a client.
import { z } from 'zod'
import { common, prefixedForm } from './shared.ts'

/** Form of a contact's id: `contact_` and a ULID. */
export const contactId = prefixedForm('contact')

const fields = {
  external_id: z.string().min(1).max(120).describe("The user's id in your system, 1 to 120 characters."),
  display_name: z.string().nullish(),
  email: z.email({ error: 'must be an e-mail address' }).nullish(),
  avatar_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .describe("URL of the person's avatar.")
    .nullish(),
  tags: z.array(z.string()).describe('Tags.').optional(),
  metadata: z.record(z.string(), z.unknown()).optional().describe('Custom key-value pairs.'),
}
/** The body that adds a contact, or changes the one with the same `external_id`. */
export const ContactBody = z.object(fields)
/** The body that changes one by its id. */
export const ContactPatch = z.object(fields).partial()
/** A contact in a response. */
export const Contact = z.object({ _id: contactId.schema, ...fields, ...common })
