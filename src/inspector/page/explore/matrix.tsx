// The matrix of an exploration: a row per injection point, a column per failure mode, and the result of each case.
import type { ExplorationData, ReportedCase } from '../../../contract/core/exploration.ts'
import { CASE_STYLES, DERIVED, LEFT_OUT } from '../../../views/case-style.ts'
import { hashOf, here } from '../state/route.ts'
import { Region } from '../ui/region.tsx'

type Place = Pick<ReportedCase, 'point' | 'class'>
/** The id of a case in the URL. */
export const caseAddress = ({ point, class: name }: Place): string => `${point} ${name}`

/** The matrix, and below it the pairs, which have no place in it. */
export function Matrix({ data: { points, classes, cells, left } }: { data: ExplorationData }) {
  const by = new Map(cells.map((cell) => [caseAddress(cell), cell]))
  const leftOut = new Set(left.map(caseAddress))
  const shown = new Set([...cells, ...left].map(({ point }) => point))
  const columns = classes.filter((name) => [...cells, ...left].some((cell) => cell.class === name))
  const ids = new Set(points.map(({ id }) => id))
  const pairs = cells.filter(({ point }) => !ids.has(point))
  return (
    <>
      <Region class="scrolls" label="Matrix">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Injection point</th>
              {columns.map((name) => (
                <th key={name} scope="col">
                  <span>{name}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {points
              .filter(({ id }) => shown.has(id))
              .map(({ id, label }, index) => (
                <tr key={id}>
                  <th scope="row" title={id}>
                    p{index + 1} <span class="note">{label}</span>
                  </th>
                  {columns.map((name) => {
                    const place = caseAddress({ point: id, class: name })
                    const cell = by.get(place)
                    return <td key={name}>{cell ? <CellLink cell={cell} /> : leftOut.has(place) ? LEFT_OUT : ''}</td>
                  })}
                </tr>
              ))}
          </tbody>
        </table>
      </Region>
      <Legend />
      {pairs.length > 0 && (
        <section class="card" aria-label="Pairs of faults">
          <h2>Two faults in one run</h2>
          <ul class="outcomes">
            {pairs.map((cell) => (
              <li key={caseAddress(cell)}>
                <CellLink cell={cell} /> {cell.class} at {cell.point}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function Legend() {
  return (
    <p class="note">
      {Object.entries(CASE_STYLES).map(([verdict, { sign, tone }]) => (
        <span key={verdict} class="legend">
          <span class={`pill ${tone}`}>{sign}</span> {verdict}
        </span>
      ))}
      <span class="legend">{LEFT_OUT} skipped</span>
      <span class="legend">{DERIVED} derived from the run of another case</span>
    </p>
  )
}

function CellLink({ cell }: { cell: ReportedCase }) {
  const { sign, tone } = CASE_STYLES[cell.verdict]
  const name = caseAddress(cell)
  return (
    <a
      class={`pill ${tone}`}
      href={hashOf('explore', { cell: name })}
      aria-current={here.value.params.get('cell') === name ? 'true' : undefined}
      aria-label={`${cell.verdict}: ${cell.class} at ${cell.point}${cell.derived ? ' (derived)' : ''}`}
      title={`${cell.verdict}: ${cell.why}`}
    >
      {sign}
      {cell.derived && DERIVED}
    </a>
  )
}
