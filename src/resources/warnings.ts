// Notes input that was accepted although it looks like a mistake (sessions/warnings.ts).

import { ulidForm } from '../contract/workspace/shared.ts'
import { WARNING } from '../sessions/warnings.ts'
import type { Transaction } from './define.ts'

/** Notes a warning, once per subject. */
export function noteWarning({ records, caller, newId, now }: Transaction, subject: string, message: string): void {
  const { workspace } = caller
  if (records.byKey(WARNING, workspace, '', subject)) return
  records.insert({
    ...newId(ulidForm, WARNING),
    kind: WARNING,
    workspace,
    parent: '',
    key: subject,
    body: { message, created: now },
  })
}
