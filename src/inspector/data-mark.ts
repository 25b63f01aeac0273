// The position of a report's data in the page.

/** A comment that a report replaces by its data. */
export const DATA_MARK = '<!-- data -->'
