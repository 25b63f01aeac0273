// Warnings of a session: what was accepted although it looks like a mistake. The list of traces shows them.

import type { Records } from '../contract/record.ts'
import { ulidForm } from '../contract/workspace.ts'
import type { Work } from './define.ts'

const KIND = 'warning'

/** Notes a warning, once for each subject. */
export function noteWarning({ records, caller, newId, now }: Work, subject: string, message: string): void {
  const { workspace } = caller
  if (records.byKey(KIND, workspace, '', subject)) return
  records.insert({
    ...newId(ulidForm, KIND),
    kind: KIND,
    workspace,
    parent: '',
    key: subject,
    body: { message, created: now },
  })
}

/** All warnings of a session, oldest first. */
export const warningsOf = (records: Records): string[] => records.keyed(KIND).map(({ body }) => String(body.message))
