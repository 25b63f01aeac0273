// The page's entry: begins to follow the server, or takes what a report holds, and draws.
import { render } from 'preact'
import { Shell } from './app.tsx'
import { addCalls } from './state/call-list.ts'
import { follow, loading } from './state/live.ts'
import { reportData } from './state/report.ts'
import './state/theme.ts'

const root = document.getElementById('app')
if (reportData) {
  addCalls(reportData.rows)
  loading.value = false
} else void follow()
if (root) render(<Shell />, root)
