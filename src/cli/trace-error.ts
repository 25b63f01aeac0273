// What the trace command fails with, apart from it: the command line knows the error without loading the command.

/** The server or file cannot give what was asked for; the message is one line. */
export class TraceError extends Error {}
