// The page's entry: follows the server, or reads the data of a report, and renders.
import { render } from 'preact'
import { Shell } from './app.tsx'
import { addCalls } from './state/call-list.ts'
import { firstPage, follow, loading, watchFiles } from './state/live.ts'
import { reportData } from './state/report.ts'
import { here } from './state/route.ts'
import './state/theme.ts'

const root = document.getElementById('app')
const draw = () => root && render(<Shell />, root)
/** The parts follow this script. The list needs none of them, other views may. */
const needsParts = !['', 'calls'].includes(here.value.view) || here.value.params.has('call')

if (needsParts) document.addEventListener('DOMContentLoaded', draw)
if (reportData) {
  addCalls(reportData.rows)
  loading.value = false
  if (!needsParts) draw()
} else {
  // The list is rendered once, with its first calls. Live updates start when they are visible.
  const first = firstPage().catch(() => {})
  void first.then(() => {
    if (!needsParts) draw()
    void follow()
    void watchFiles()
  })
}
