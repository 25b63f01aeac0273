// The part with uPlot: calls over time.
import uPlot from 'uplot'

/** The exports of the part. */
export const chartPart = { uPlot }
/** The exports of the chart bundle, which is loaded on first use. */
export type ChartPart = typeof chartPart

Object.assign(globalThis, { understudyChart: chartPart })
