// The end users of calls: contacts of the workspace from their first call on.
import { ContactBody } from '../contract/workspace/contact.ts'
import type { Fields } from '../contract/workspace/record.ts'
import type { Settings } from '../gateway/settings.ts'
import type { People } from '../gateway/types.ts'
import type { Session } from '../sessions/sessions.ts'
import { contacts } from './contacts.ts'
import { createRecord, workOf } from './verbs.ts'

/** Creates contacts for end users; `prepare` seeds the workspace of a new session. */
export const peopleOf = (prepare: (session: Session) => Promise<void>): People => ({
  async meet(identity, { session, caller: who }) {
    const caller = who()
    const exists = () => session.records.byKey(contacts.kind, caller.workspace, '', identity.id) !== undefined
    if (exists()) return
    const contact = contactOf(identity)
    if (!contact) return
    await prepare(session)
    await session.transact(() => {
      // Concurrent calls may name the same person.
      if (!exists()) createRecord(contacts, workOf(session, caller, identity.id), contact)
    })
  },
})

/** The contact of a person, with the fields that a contact can have; undefined if the id is not valid for a contact. */
function contactOf({ id, display_name, email, logo_url, tags, metadata }: NonNullable<Settings['identity']>) {
  const fields = {
    external_id: id,
    display_name,
    email,
    avatar_url: logo_url,
    tags,
    metadata: metadata && Object.assign({}, ...metadata),
  }
  const fits = ([field, value]: [string, unknown]) =>
    value !== undefined && ContactBody.shape[field as keyof typeof fields].safeParse(value).success
  const contact: Fields = Object.fromEntries(Object.entries(fields).filter(fits))
  return contact.external_id === undefined ? undefined : contact
}
