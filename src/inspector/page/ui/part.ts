// Parts of the page that are evaluated on first use: the page contains them as text.
import type { ChartPart } from '../parts/chart.ts'
import type { EditorPart } from '../parts/editor.ts'

const parts = globalThis as { understudyEditor?: EditorPart; understudyChart?: ChartPart }

/** Evaluates the text of a part once. The page's policy has its hash. */
function evaluated<Part>(name: string, part: () => Part | undefined): Part {
  if (!part()) {
    const script = document.createElement('script')
    script.textContent = document.getElementById(`part-${name}`)?.textContent ?? ''
    document.head.append(script)
  }
  const found = part()
  if (!found) throw new Error(`the ${name} could not be loaded`)
  return found
}

/** The part with CodeMirror. */
export const editor = (): EditorPart => evaluated('editor', () => parts.understudyEditor)

/** The part with uPlot. */
export const chart = (): ChartPart => evaluated('chart', () => parts.understudyChart)
