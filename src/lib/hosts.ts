// Host names of this machine.

/** True for `localhost` and its subdomains, 127.0.0.0/8 (as IPv6 too) and ::1, with or without brackets. */
export const isLoopback = (host: string): boolean =>
  /^(?:(?:.+\.)?localhost\.?|127(?:\.\d{1,3}){3}|\[?::1\]?|\[?::ffff:(?:127(?:\.\d{1,3}){3}|7f[\da-f]{2}:[\da-f]{1,4})\]?)$/i.test(
    host,
  )

/** True for the addresses that mean every interface. */
export const isWildcard = (host: string): boolean => ['0.0.0.0', '::', '[::]'].includes(host)

/** The host name of a `Host` header in lower case: without its port and the brackets of an IPv6 address. */
export const hostName = (header: string): string =>
  header
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
