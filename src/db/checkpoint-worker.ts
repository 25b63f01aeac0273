// The worker's side of checkpoints: a program of its own inside the executable.
import type { CheckpointReport, CheckpointRequest } from './checkpoint.ts'
import { checkpointFile } from './open.ts'

declare const self: Worker

self.onmessage = ({ data: { file } }: MessageEvent<CheckpointRequest>) => {
  let error: string | undefined
  try {
    checkpointFile(file)
  } catch (thrown) {
    error = String(thrown)
  }
  self.postMessage({ error } satisfies CheckpointReport)
}
