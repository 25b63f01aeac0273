// Files: uploaded as multipart, returned byte for byte.

import { asRoute, type Route } from '../../contract/core/route.ts'
import { FileBody, FilePatch, FileRecord, fileId } from '../../contract/workspace/knowledge.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import { headerText } from '../../lib/header-text.ts'
import { defineResource, PAGED, type Transaction } from '../define.ts'
import { type ResourceDeps, recordRoute } from '../routes.ts'
import { createRecord, workOf } from '../verbs.ts'

/** Uploaded files, whose bytes are returned unchanged. */
export const files = defineResource({
  kind: 'file',
  noun: 'file',
  tag: 'Knowledge',
  path: '/v2/files',
  param: 'file_id',
  id: fileId,
  deletedStatus: 204,
  ...PAGED,
  verbs: ['list', 'get', 'update', 'delete'],
  examples: { update: { renamed: { file_name: 'returns-2025.txt' } } },
  update: FilePatch,
  record: FileRecord,
  // Clients see the purpose last.
  show: ({ purpose, ...file }) => ({ ...file, purpose }),
})

/** A file to store. */
interface NewFile {
  name: string
  type: string
  purpose: string
  bytes: Uint8Array
}

/** Stores a file. */
export function createFile(work: Transaction, { name, type, purpose, bytes }: NewFile): Fields {
  const fields = { file_name: name, content_type: type, bytes: bytes.byteLength, purpose }
  return createRecord(files, work, fields, { storeContent: ({ seq }) => work.contents.putFile(seq, bytes) })
}

/** The routes for uploading a file and for its content. */
export const fileRoutes = (deps: ResourceDeps): Route[] => [
  asRoute({
    method: 'post',
    path: '/v2/files',
    tag: 'Knowledge',
    summary: 'Upload a file',
    description: 'Stores a file from which a datasource can be created.',
    operationId: 'createFile',
    bodyType: 'multipart',
    examples: { text: { file: 'returns.txt' } },
    body: FileBody,
    response: FileRecord,
    async handle({ request, body: { file, purpose } }) {
      const { session, caller } = await deps.callOf(request)
      const bytes = new Uint8Array(await file.arrayBuffer())
      const type = file.type === '' ? 'application/octet-stream' : file.type
      return session.transact(() => createFile(workOf(session, caller), { name: file.name, type, purpose, bytes }))
    },
  }),
  recordRoute(files, deps, {
    method: 'get',
    path: '/v2/files/:file_id/content',
    summary: 'Get the content of a file',
    description: 'The bytes of the file.',
    operationId: 'getFileContent',
    response: FileBody.shape.file,
    contentType: '*/*',
    handle({ session, record }) {
      const bytes = session.contents.file(String(record._id)) ?? new Uint8Array()
      // Never rendered as a page of this origin, whatever was uploaded.
      const headers = { 'content-type': headerText(String(record.content_type)), 'content-disposition': 'attachment' }
      return new Response(bytes.slice(), { headers })
    },
  }),
]
