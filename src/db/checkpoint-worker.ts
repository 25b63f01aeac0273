// The worker's side of checkpoints: a program of its own inside the executable.
import type { CheckpointReport, CheckpointRequest } from './checkpoint.ts'
import { checkpointFile } from './open.ts'

declare const self: Worker

self.onmessage = ({ data: { file } }: MessageEvent<CheckpointRequest>) => {
  self.postMessage(moved(file))
}

function moved(file: string): CheckpointReport {
  try {
    return { moved: checkpointFile(file) }
  } catch (error) {
    return { moved: 0, error: String(error) }
  }
}
