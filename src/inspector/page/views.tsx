// The registry of views: one line per view.
import type { ComponentChildren } from 'preact'
import { ExploreView } from './explore/view.tsx'
import { reportData } from './state/report.ts'
import type { IconName } from './ui/icons.tsx'
import { AgentsView } from './views/agents.tsx'
import { CallsView } from './views/calls.tsx'
import { CompareView } from './views/compare.tsx'
import { ResultView } from './views/result.tsx'
import { ScenariosView } from './views/scenarios.tsx'
import { SessionsView } from './views/sessions.tsx'
import { Start } from './views/start.tsx'
import { WorkspaceView } from './views/workspace.tsx'

/** A view of the page. */
interface View {
  /** Its name in the URL. */
  id: string
  label: string
  icon: IconName
  /** Whether reports have it, too. */
  inReport: boolean
  show(): ComponentChildren
}

/** All views, in order. The first one that there is is the default. */
const VIEWS: readonly View[] = [
  { id: 'explore', label: 'Exploration', icon: 'sessions', inReport: true, show: () => <ExploreView /> },
  { id: 'result', label: 'Result', icon: 'sessions', inReport: true, show: () => <ResultView /> },
  { id: 'calls', label: 'Calls', icon: 'calls', inReport: true, show: () => <CallsView /> },
  { id: 'compare', label: 'Compare', icon: 'compare', inReport: true, show: () => <CompareView /> },
  { id: 'scenarios', label: 'Scenarios', icon: 'storm', inReport: true, show: () => <ScenariosView /> },
  { id: 'sessions', label: 'Sessions', icon: 'clock', inReport: false, show: () => <SessionsView /> },
  { id: 'agents', label: 'Agents', icon: 'agents', inReport: false, show: () => <AgentsView /> },
  { id: 'workspace', label: 'Workspace', icon: 'workspace', inReport: false, show: () => <WorkspaceView /> },
  { id: 'start', label: 'Start', icon: 'start', inReport: false, show: () => <Start /> },
]

/** The views of a server, or those of a report, which starts with its result. */
export const viewsHere = VIEWS.filter(({ id, inReport }) => {
  if (id === 'explore') return reportData?.exploration !== undefined
  if (id === 'result') return reportData?.execution !== undefined
  return !reportData || inReport
})
