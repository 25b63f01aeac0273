// The part with uPlot: calls over time.
import uPlot from 'uplot'

/** What the part gives. */
export const chartPart = { uPlot }
/** The exports of the chart bundle, which is loaded on first use. */
export type ChartPart = typeof chartPart

Object.assign(globalThis, { understudyChart: chartPart })
