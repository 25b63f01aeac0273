// Parts of the page that are evaluated when they are first needed: they lie in it as text.
import type { ChartPart } from '../parts/chart.ts'
import type { EditorPart } from '../parts/editor.ts'

const parts = globalThis as { understudyEditor?: EditorPart; understudyChart?: ChartPart }

/** Runs the text of a part; the page's policy knows its hash. */
function evaluate(name: 'editor' | 'chart'): void {
  const script = document.createElement('script')
  script.textContent = document.getElementById(`part-${name}`)?.textContent ?? ''
  document.head.append(script)
}

/** The part with CodeMirror. */
export function editor(): EditorPart {
  if (!parts.understudyEditor) evaluate('editor')
  if (!parts.understudyEditor) throw new Error('the editor could not be loaded')
  return parts.understudyEditor
}

/** The part with uPlot. */
export function chart(): ChartPart {
  if (!parts.understudyChart) evaluate('chart')
  if (!parts.understudyChart) throw new Error('the chart could not be loaded')
  return parts.understudyChart
}
