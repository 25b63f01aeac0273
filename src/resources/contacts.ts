// Contacts: creating one with a known external id updates it.
import { Contact, ContactBody, ContactPatch, contactId } from '../contract/workspace/contact.ts'
import { defineResource, PAGED } from './define.ts'

/** Contacts (the specification, "Contact"). */
export const contacts = defineResource({
  kind: 'contact',
  noun: 'contact',
  tag: 'Contacts',
  path: '/v2/contacts',
  param: 'contact_id',
  id: contactId,
  ...PAGED,
  shown: ['create'],
  descriptions: {
    create: 'Creates a contact, or updates the given fields of the contact with the same `external_id`.',
  },
  examples: {
    create: { ada: { external_id: 'user-1', display_name: 'Ada', email: 'ada@example.com', tags: ['beta'] } },
    update: { moved: { email: 'ada@example.org' } },
  },
  create: ContactBody,
  update: ContactPatch,
  record: Contact,
  key: 'external_id',
  upsert: true,
})
