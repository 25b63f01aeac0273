// Bounds what waits in memory to be recorded.

/** A number of responses, and their bytes. */
export interface BacklogSize {
  count: number
  bytes: number
}

/** What waits. */
export class Backlog {
  readonly #max: BacklogSize
  #count = 0
  #bytes = 0
  #room: PromiseWithResolvers<void> | undefined

  constructor(max: BacklogSize) {
    this.#max = max
  }

  add({ count, bytes }: BacklogSize): void {
    this.#count += count
    this.#bytes += bytes
  }

  remove({ count, bytes }: BacklogSize): void {
    this.add({ count: -count, bytes: -bytes })
    if (!this.#isFull) this.#letThrough()
  }

  /** Forgets what waits. */
  clear(): void {
    this.#count = 0
    this.#bytes = 0
    this.#letThrough()
  }

  /** Resolves when less than the maximum waits; undefined if it does. */
  room(): Promise<void> | undefined {
    if (!this.#isFull) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  get isHalfFull(): boolean {
    return this.#reaches(2)
  }

  get #isFull(): boolean {
    return this.#reaches(1)
  }

  #reaches(part: number): boolean {
    return this.#count >= this.#max.count / part || this.#bytes >= this.#max.bytes / part
  }

  #letThrough(): void {
    this.#room?.resolve()
    this.#room = undefined
  }
}
