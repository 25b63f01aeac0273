// Which of several processes this one is.

/** A process as answers and traces name it. */
export interface Instance {
  /** `--instance`, else host and port; the port is known once it listens. */
  name: string
  /** The name in traces; undefined when it has none of its own and took a free port, which says nothing a day later. */
  readonly traced: string | undefined
  /** Whether it was given its name, as each of several is. */
  readonly named: boolean
}

/** The process of these settings. */
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
