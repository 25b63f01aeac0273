// Errors of commands. They are separate, so that the command line knows them without loading the commands.
import { withoutAddressSecrets } from '../lib/secrets.ts'

/** No address to listen on is available; the message is one line. */
export class ListenError extends Error {}

/** The server or a file does not provide what is needed; the message is one line. */
export class ServerError extends Error {
  constructor(message: string) {
    super(withoutAddressSecrets(message))
  }
}
