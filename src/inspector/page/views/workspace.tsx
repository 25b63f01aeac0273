// The workspace of a session: the records of each resource, and their versions.
import { useState } from 'preact/hooks'
import { askJson, askWorkspace } from '../state/api.ts'
import { countText } from '../state/format.ts'
import { sessionChanges } from '../state/live.ts'
import { hashOf, here } from '../state/route.ts'
import { Json, Page } from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { SessionChoice, sessionHere, withSession } from './sessions.tsx'

interface Resource {
  path: string
  /** The kind under which its records are counted. */
  kind: string
  label: string
  /** Paths of the lists inside a record, after its id. */
  inside?: readonly string[]
  /** Whether its list has no pages. */
  whole?: boolean
}

const RESOURCES: readonly Resource[] = [
  { path: 'projects', kind: 'project', label: 'Projects' },
  { path: 'datasets', kind: 'dataset', label: 'Datasets', inside: ['datapoints', 'versions'] },
  { path: 'files', kind: 'file', label: 'Files' },
  { path: 'knowledge', kind: 'knowledge', label: 'Knowledge', inside: ['datasources'] },
  { path: 'evaluators', kind: 'evaluator', label: 'Evaluators', inside: ['versions'] },
  { path: 'human-eval-sets', kind: 'human_review_set', label: 'Review sets', whole: true },
  { path: 'tools', kind: 'tool', label: 'Tools', inside: ['versions'] },
  { path: 'contacts', kind: 'contact', label: 'Contacts' },
  { path: 'memory-stores', kind: 'memory_store', label: 'Memory stores', inside: ['memories'] },
  { path: 'agents', kind: 'agent', label: 'Agents', inside: ['versions', 'tasks'] },
  { path: 'feedback', kind: 'feedback', label: 'Feedback' },
]

type Fields = Record<string, unknown>

const [FIRST] = RESOURCES
const SHOWN = 50

/** A list in a response, with or without pages. */
type List = Fields[] | { data?: Fields[] }
const recordsIn = (list: List): Fields[] => (Array.isArray(list) ? list : (list.data ?? []))

/** Number of records in a session, by kind. */
const countsIn = async (session: string) =>
  (await askJson<{ counts: Record<string, number> }>('/_understudy/records', { session })).counts

/** The view. */
export function WorkspaceView() {
  const session = sessionHere()
  const { params } = here.value
  const resource = RESOURCES.find(({ path }) => path === params.get('of')) ?? FIRST
  const within = params.get('in') ?? ''
  const counts = useLoaded(() => countsIn(session), [session, resource?.path ?? null, sessionChanges.value])
  if (!resource) return null
  return (
    <Page title="Workspace" beside={<SessionChoice />}>
      <div class="columns">
        <nav class="list" aria-label="Resources">
          {RESOURCES.map(({ path, label, kind }) => (
            <a
              key={path}
              href={hashOf('workspace', withSession({ of: path }))}
              aria-current={path === resource.path ? 'true' : undefined}
            >
              {label}
              <span class="count" title="Number of records">
                {counts.value && countText(counts.value[kind] ?? 0)}
              </span>
            </a>
          ))}
        </nav>
        <Records key={`${session} ${resource.path} ${within}`} resource={resource} within={within} session={session} />
      </div>
    </Page>
  )
}

interface RecordsProps {
  resource: Resource
  /** The record and its inner list that is shown instead, such as `01J.../versions`. */
  within: string
  session: string
}

function Records({ resource, within, session }: RecordsProps) {
  const path = `/v2/${resource.path}${within === '' ? '' : `/${within}`}`
  const load = async () =>
    recordsIn(await askWorkspace<List>(resource.whole ? path : `${path}?limit=${SHOWN}`, session))
  const { value, error } = useLoaded(load, [session, path, sessionChanges.value])
  return (
    <div class="stack">
      {within !== '' && (
        <p>
          <a href={hashOf('workspace', withSession({ of: resource.path }))}>{resource.label}</a> / {within}
        </p>
      )}
      {error !== undefined && <p class="callout bad">{error}</p>}
      {value?.length === 0 && (
        <p class="note">
          No {within === '' ? resource.label.toLowerCase() : within.replace(/.*\//, '')} in this session.
        </p>
      )}
      {value?.map((record, index) => (
        <RecordEntry
          key={idOf(record) ?? index}
          record={record}
          resource={resource}
          inside={within === '' ? (resource.inside ?? []) : []}
        />
      ))}
      {value?.length === SHOWN && <p class="note">Showing the first {SHOWN} records.</p>}
    </div>
  )
}

const idOf = (record: Fields): string | undefined => {
  const id = record._id ?? record.id
  return typeof id === 'string' ? id : undefined
}

const TITLES = ['display_name', 'name', 'key', 'external_id', 'filename', 'version', 'title'] as const

function titleOf(record: Fields): string {
  const found = TITLES.map((name) => record[name]).find(
    (value) => typeof value === 'string' || typeof value === 'number',
  )
  return String(found ?? idOf(record) ?? 'record')
}

function RecordEntry({ record, resource, inside }: { record: Fields; resource: Resource; inside: readonly string[] }) {
  const [open, setOpen] = useState(false)
  const id = idOf(record)
  return (
    <details class="card record" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{titleOf(record)}</strong> <span class="note mono">{id}</span>
      </summary>
      {open && (
        <>
          {id !== undefined && inside.length > 0 && (
            <p class="actions">
              {inside.map((name) => (
                <a key={name} href={hashOf('workspace', withSession({ of: resource.path, in: `${id}/${name}` }))}>
                  {name}
                </a>
              ))}
            </p>
          )}
          <Json value={record} label={titleOf(record)} />
        </>
      )}
    </details>
  )
}
