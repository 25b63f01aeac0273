// The entry of the action: the runner starts the same file for the step and when the job ends.
import { getState, saveState, setFailed } from '@actions/core'
import { main } from './main.ts'
import { post } from './post.ts'

const isPost = getState('isPost') === 'true'
if (!isPost) saveState('isPost', 'true')
await (isPost ? post : main)().catch((error: Error) => setFailed(error.message))
