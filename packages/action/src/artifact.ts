// Makes the report an artifact of the workflow run: one file, as it is. These are the calls of @actions/artifact for such a file,
// which brings a client for a whole cloud's storage that is four times as large as all the rest of the action.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { info, setSecret, warning } from '@actions/core'

const SERVICE = 'twirp/github.actions.results.api.v1.ArtifactService'
const MIME_TYPE = 'text/html'
/** The version of the protocol in which a file need not be a zip. */
const PROTOCOL = 7

/** Uploads the report under a name, and says what happened: what cannot be uploaded is no reason to fail. */
export async function uploadReport(path: string, name: string | undefined): Promise<void> {
  if (name === undefined) return
  try {
    if (!(await uploadPage(path, name))) info(`the report is ${path}: this runner does not support artifacts`)
  } catch (error) {
    warning(`the report ${path} could not be uploaded as ${name}: ${(error as Error).message}`)
  }
}

/** Uploads a file; gives false where the runner offers no artifacts, throws when it fails. */
async function uploadPage(path: string, name: string): Promise<boolean> {
  const { ACTIONS_RUNTIME_TOKEN: token, ACTIONS_RESULTS_URL: results } = process.env
  if (!token || !results) return false
  const call = async (method: string, body: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const response = await fetch(new URL(`/${SERVICE}/${method}`, results), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...runOf(token), name, ...body }),
    })
    const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>
    if (response.ok && answer.ok === true) return answer
    throw new Error(`${method} returned status ${response.status} ${String(answer.msg ?? '')}`.trim())
  }
  const bytes = readFileSync(path)
  const { signed_upload_url: url } = await call('CreateArtifact', { mime_type: MIME_TYPE, version: PROTOCOL })
  setSecret(String(url))
  const stored = await fetch(String(url), {
    method: 'PUT',
    headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': MIME_TYPE, 'content-type': MIME_TYPE },
    body: bytes,
  })
  if (!stored.ok) throw new Error(`the storage returned status ${stored.status}`)
  const hash = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  const { artifact_id: id } = await call('FinalizeArtifact', { size: String(bytes.length), hash })
  info(`the report is the artifact ${name} (${String(id)})`)
  return true
}

/** Which run and job the token is for. */
function runOf(token: string): Record<string, string> {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
  const scope = String(claims.scp ?? '')
    .split(' ')
    .find((one) => one.startsWith('Actions.Results:'))
  const [, run = '', job = ''] = scope?.split(':') ?? []
  if (run === '' || job === '') throw new Error('the token of the runner does not name its run')
  return { workflow_run_backend_id: run, workflow_job_run_backend_id: job }
}
