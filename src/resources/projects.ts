// Projects and their folders, created by the paths of other records.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { Project, ProjectBody, ProjectPatch } from '../contract/workspace/project.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { uuidForm } from '../contract/workspace/shared.ts'
import { defineResource, recordOf, type Transaction } from './define.ts'
import { createRecord, saveRecord } from './verbs.ts'

/** Projects, which the paths of other records create when they first name them. */
export const projects = defineResource({
  kind: 'project',
  noun: 'project',
  tag: 'Projects',
  path: '/v2/projects',
  param: 'project_id',
  id: uuidForm,
  examples: { create: { billing: { name: 'Billing' } }, update: { renamed: { name: 'Customer billing' } } },
  create: ProjectBody,
  update: ProjectPatch,
  record: Project,
  stored: z.looseObject({ name: z.string(), folders: z.array(z.string()) }),
  key: 'name',
  fill: (input, _, { before }) => ({ ...input, folders: before?.folders ?? [] }),
  keep({ records, caller }, { _id, name }) {
    if (!records.mentions(caller.workspace, 'project_id', String(_id))) return
    const message = `project ${JSON.stringify(name)} is not empty: delete or move what is in it first`
    throw new ApiError(409, 'project_not_empty', message, { param: 'project_id' })
  },
})

/** The name of the project if neither path nor token gives one. */
const DEFAULT_PROJECT = 'Default'

/** The id of the project in a path. Missing projects and folders are created. */
export function projectOf(work: Transaction, path: string): string {
  const names = path === '' ? [] : path.split('/')
  const name = work.caller.project ?? names.shift() ?? DEFAULT_PROJECT
  const { records, caller } = work
  const found = records.byKey(projects.kind, caller.workspace, '', name)
  const project = found ?? createRecord(projects, work, { name })
  const folders = project.folders as string[]
  const missing = names.map((_, index) => names.slice(0, index + 1).join('/')).filter((one) => !folders.includes(one))
  if (missing.length > 0) {
    saveRecord(projects, work, { parents: [], before: project }, { ...project, folders: [...folders, ...missing] })
  }
  return String(project._id)
}

/**
 * The project of a record that has a path. It stays in its project until its path changes: the project may have another
 * name by then, and the caller another token.
 */
export const projectOfRecord = (work: Transaction, { path }: Fields, before: Fields | undefined): string =>
  before !== undefined && before.path === path ? String(before.project_id) : projectOf(work, String(path))

/** The project of a record, by id or by path. A new path takes precedence over an existing id. */
export function chosenProject(work: Transaction, input: Fields, before: Fields | undefined): string {
  if (typeof input.project_id === 'string' && (input.project_id !== before?.project_id || input.path === undefined)) {
    recordOf(projects, work, input.project_id)
    return input.project_id
  }
  // Without a path, a token with a project puts records directly into it.
  return projectOf(work, String(input.path ?? (work.caller.project === undefined ? DEFAULT_PROJECT : '')))
}
