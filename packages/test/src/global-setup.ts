// For `globalSetup` of vitest, jest and Playwright: one server for all processes of a run, instead of one for each.
import { startUnderstudy } from './server.ts'

/** Starts the server and tells the processes of the run where it is; what it gives stops it, where a runner calls that. */
// biome-ignore lint/style/noDefaultExport: runners look for the default export
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env.UNDERSTUDY_URL) return async () => {}
  const server = await startUnderstudy()
  process.env.UNDERSTUDY_URL = server.url
  return async () => {
    delete process.env.UNDERSTUDY_URL
    await server.stop()
  }
}
