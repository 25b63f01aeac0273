// Identifies this process among several instances.

/** The name of a process in responses and traces. */
export interface Instance {
  /** `--instance`, else host and port. The port is known once it listens. */
  name: string
  /**
   * The name in traces; undefined if it has no name of its own and uses a free port, which is meaningless a day later.
   */
  readonly traced: string | undefined
  /** Whether its name was configured, as it is for each of several instances. */
  readonly named: boolean
}

/** The process with these settings. */
export function instanceOf({
  instance,
  host = '127.0.0.1',
  port,
}: {
  instance: string | undefined
  host: string | undefined
  port: number
}): Instance {
  const name = instance ?? `${host}:${port}`
  return { name, traced: instance === undefined && port === 0 ? undefined : name, named: instance !== undefined }
}
