// The HTML report as an artifact: what cannot be uploaded is no reason to fail.
import { info, warning } from '@actions/core'
import { uploadPage } from './artifact.ts'

/** Uploads the report under a name; says what happened. */
export async function uploadReport(path: string, name: string | undefined): Promise<void> {
  if (name === undefined) return
  try {
    if (!(await uploadPage(path, name))) info(`the report is ${path}: this runner does not support artifacts`)
  } catch (error) {
    warning(`the report ${path} could not be uploaded as ${name}: ${(error as Error).message}`)
  }
}
