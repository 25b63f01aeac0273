// Recordings that are killed: another process, since a process that is killed cannot look at what it left.
import { test } from 'bun:test'
import { killRecordings } from '../support/killed-recording.ts'

test('recording: keeps what is written and the older cassette when it is killed', () => killRecordings(5), 120_000)
