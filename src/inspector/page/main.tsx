// The page's entry: begins to follow the server, or takes what a report holds, and draws.
import { render } from 'preact'
import { Shell } from './app.tsx'
import { addCalls } from './state/call-list.ts'
import { firstPage, follow, loading, wait } from './state/live.ts'
import { reportData } from './state/report.ts'
import { here } from './state/route.ts'
import './state/theme.ts'

const root = document.getElementById('app')
const draw = () => root && render(<Shell />, root)
/** The parts of the page lie behind this script: the list needs none of them, what else an address may ask for does. */
function drawSoon(): void {
  const { view, params } = here.value
  if (document.readyState !== 'loading' || (['', 'calls'].includes(view) && !params.has('call'))) draw()
  else document.addEventListener('DOMContentLoaded', draw)
}

/** The first calls are drawn with the page, where the server is as near as it mostly is. */
const FIRST_CALLS_MS = 50
if (reportData) {
  addCalls(reportData.rows)
  loading.value = false
  drawSoon()
} else {
  const first = firstPage().catch(() => {})
  void follow(first)
  void Promise.race([first, wait(FIRST_CALLS_MS)]).then(drawSoon)
}
