// The problems of the explored program, the worst first, each with the command that reproduces it.
import type { ExplorationData } from '../../../contract/core/exploration.ts'
import { listed, PROBLEM_TITLES } from '../../../views/problem-text.ts'
import { hashOf } from '../state/route.ts'
import { CopyButton } from '../ui/copy.tsx'
import { caseAddress } from './matrix.tsx'

/** The list of problems. */
export function Problems({ data: { problems } }: { data: ExplorationData }) {
  return (
    <ol class="problems" aria-label="Problems">
      {problems.map((problem) => (
        <Problem key={problem.command} problem={problem} />
      ))}
    </ol>
  )
}

function Problem({ problem }: { problem: ExplorationData['problems'][number] }) {
  const { kind, severity, why, calls, classes, cases, command } = problem
  const [first] = cases
  return (
    <li class={`card ${severity === 'error' ? 'bad' : 'warning'}`}>
      <h2>
        <span class={`pill ${severity === 'error' ? 'bad' : 'warning'}`}>{severity}</span>{' '}
        <a href={hashOf('explore', { cell: first ? caseAddress(first) : '' })}>{PROBLEM_TITLES[kind]}</a>
      </h2>
      <p>{listed(calls)}</p>
      <p class="note">under {listed(classes)}</p>
      <p class="why">{why}</p>
      <div class="command">
        <code>{command}</code> <CopyButton text={() => command} />
      </div>
    </li>
  )
}
