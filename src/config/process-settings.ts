// The settings of a process among several: how it is named, where its sessions are, how it stops.
import { setting } from './values.ts'

/** Rows of the table of settings. */
export const PROCESS_SETTINGS = {
  instance: setting<string | undefined>({
    takes: 'NAME',
    schema: ({ z }) => z.string().regex(/^[A-Za-z0-9._:-]{1,64}$/),
    fallback: undefined,
    help: 'name of this process among several behind a balancer, on every answer and in traces; host and port when left out',
    valid: "1 to 64 letters, digits, '.', '_', ':' or '-'",
  }),
  instance_strict: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'refuse requests whose session stands where no balancer sees it: in a body or a query',
    valid: 'true or false',
  }),
  drain_timeout: setting({
    takes: 'DURATION',
    schema: ({ Duration, z }) => Duration.pipe(z.number().min(0)),
    fallback: 5_000,
    help: 'longest that running calls may take after a signal to stop; no new sessions begin meanwhile',
    valid: 'a duration such as 30s',
  }),
  sessions_dir: setting<string | undefined>({
    takes: 'DIR',
    schema: ({ z }) => z.string().min(1),
    fallback: undefined,
    help: 'folder with a database file for each named session, which is there again after a restart; in memory when left out',
    valid: 'a folder',
  }),
} as const
