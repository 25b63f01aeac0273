// The registry of views: one line a view.
import type { ComponentChildren } from 'preact'
import type { IconName } from './ui/icons.tsx'
import { CallsView } from './views/calls.tsx'
import { Start } from './views/start.tsx'

/** A view of the page. */
export interface View {
  /** Its name in the address. */
  id: string
  label: string
  icon: IconName
  /** Whether a report has it too. */
  inReport: boolean
  show(): ComponentChildren
}

/** All views, in the order in which they are listed; the first is shown when none is named. */
export const VIEWS: readonly View[] = [
  { id: 'calls', label: 'Calls', icon: 'calls', inReport: true, show: () => <CallsView /> },
  { id: 'start', label: 'Start', icon: 'start', inReport: false, show: () => <Start /> },
]
