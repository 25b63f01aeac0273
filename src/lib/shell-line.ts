// Command lines that can be pasted into a shell.

/**
 * A command line for a shell.
 * @example
 * shellLine(['cat', 'my file']) // => "cat 'my file'"
 */
export const shellLine = (words: readonly string[]): string =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')
