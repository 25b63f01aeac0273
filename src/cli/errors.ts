// What commands fail with. They stand apart, so that the command line knows them without loading the commands.
import { withoutAddressSecrets } from '../lib/secrets.ts'

/** The server or file cannot give what was asked for; the message is one line. */
export class TraceError extends Error {
  constructor(message: string) {
    super(withoutAddressSecrets(message))
  }
}

/** There is nowhere to listen for calls; the message is one line. */
export class ListenError extends Error {}

/** The server, or a file, does not give what was asked for; the message is one line. */
export class ServerError extends Error {
  constructor(message: string) {
    super(withoutAddressSecrets(message))
  }
}
