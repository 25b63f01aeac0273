// The page's entry: begins to follow the server, or takes what a report holds, and draws.
import { render } from 'preact'
import { Shell } from './app.tsx'
import { addCalls } from './state/call-list.ts'
import { follow, loading } from './state/live.ts'
import { reportData } from './state/report.ts'
import { here } from './state/route.ts'
import './state/theme.ts'

const root = document.getElementById('app')
if (reportData) {
  addCalls(reportData.rows)
  loading.value = false
} else void follow()
const draw = () => root && render(<Shell />, root)
// The parts of the page lie behind this script: the list needs none of them, what else an address may ask for does.
const { view, params } = here.value
if (document.readyState !== 'loading' || (['', 'calls'].includes(view) && !params.has('call'))) draw()
else document.addEventListener('DOMContentLoaded', draw)
