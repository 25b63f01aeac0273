// Where the data of a report stands in the page.

/** Replaced by the data in a report; a comment otherwise. */
export const DATA_MARK = '<!-- data -->'
