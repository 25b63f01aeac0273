// The matrix of an exploration: a row per injection point, a column per failure mode, and the result of each case.
import type { ExplorationData, ReportedCase } from '../../../contract/core/exploration.ts'
import { CASE_STYLES, DERIVED, LEFT_OUT } from '../../../views/case-style.ts'
import { hashOf, here } from '../state/route.ts'
import { Region } from '../ui/layout.tsx'

type Place = Pick<ReportedCase, 'point' | 'class'>
/** The id of a case in the URL. */
export const caseAddress = ({ point, class: name }: Place): string => `${point} ${name}`

/** The matrix, and below it the pairs, which have no place in it. */
export function Matrix({ data: { points, classes, cells, skipped } }: { data: ExplorationData }) {
  const by = new Map(cells.map((result) => [caseAddress(result), result]))
  const leftOut = new Set(skipped.map(caseAddress))
  const shown = new Set([...cells, ...skipped].map(({ point }) => point))
  const columns = classes.filter((name) => [...cells, ...skipped].some((result) => result.class === name))
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
              .map((point, index) => ({ ...point, number: index + 1 }))
              .filter(({ id }) => shown.has(id))
              .map(({ id, label, number }) => (
                <tr key={id}>
                  <th scope="row" title={id}>
                    p{number} <span class="note">{label}</span>
                  </th>
                  {columns.map((name) => {
                    const place = caseAddress({ point: id, class: name })
                    const result = by.get(place)
                    return (
                      <td key={name}>{result ? <CaseLink cell={result} /> : leftOut.has(place) ? LEFT_OUT : ''}</td>
                    )
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
            {pairs.map((result) => (
              <li key={caseAddress(result)}>
                <CaseLink cell={result} /> {result.class} at {result.point}
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

function CaseLink({ cell: result }: { cell: ReportedCase }) {
  const { sign, tone } = CASE_STYLES[result.verdict]
  const name = caseAddress(result)
  return (
    <a
      class={`pill ${tone}`}
      href={hashOf('explore', { cell: name })}
      aria-current={here.value.params.get('cell') === name ? 'true' : undefined}
      aria-label={`${result.verdict}: ${result.class} at ${result.point}${result.derived ? ' (derived)' : ''}`}
      title={`${result.verdict}: ${result.why}`}
    >
      {sign}
      {result.derived && DERIVED}
    </a>
  )
}
