// The page's entry: begins to follow the server, or takes what a report holds, and draws.
import { render } from 'preact'
import { Shell } from './app.tsx'
import { addCalls } from './state/call-list.ts'
import { watchFiles } from './state/files.ts'
import { firstPage, follow, loading } from './state/live.ts'
import { reportData } from './state/report.ts'
import { here } from './state/route.ts'
import './state/theme.ts'

const root = document.getElementById('app')
const draw = () => root && render(<Shell />, root)
/** The parts of the page lie behind this script: the list needs none of them, what else an address may ask for does. */
const needsParts = !['', 'calls'].includes(here.value.view) || here.value.params.has('call')

if (needsParts) document.addEventListener('DOMContentLoaded', draw)
if (reportData) {
  addCalls(reportData.rows)
  loading.value = false
  if (!needsParts) draw()
} else {
  // The list is drawn once, with its first calls; what happens is followed when they can be seen.
  const first = firstPage().catch(() => {})
  void first.then(() => {
    if (!needsParts) draw()
    void follow()
    void watchFiles()
  })
}
